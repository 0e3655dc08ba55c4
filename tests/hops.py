"""Counts what one small write and one read pass through, in their process: ``make house``.

A file counts once, however many of its functions are called; a move is a step from one file to
another in a thread. Threads that the work begins are counted, such as those that read groups. The
write of Spark is its driver's part: begun, spread, written by a task, committed.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import arctic
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.plan_shuffle import plan_shuffle, spread_job
from arctic.job.write.shuffle import ARRIVAL_COLUMN, TASK_COLUMN
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task

_ROOT = f"{Path(arctic.__file__).parent}/"
_NAME = "db.t"
_SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
_ROWS = pa.table({"id": [2, 3], "v": ["x", "y"]}, schema=_SCHEMA)
_COUNTED = {
    "opens": ("open_table",),
    "looks before a commit": ("reopen",),
    "catalogs": ("open_catalog",),
    "loads": ("load_table",),
    "refreshes": ("refresh",),
    "pins": ("pin",),
    "option reads": ("value",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hops:
    """What one piece of work passed through."""

    files: frozenset[str]
    moves: int
    calls: Counter[str]

    def count(self, what: str) -> int:
        """Return how often something of ``_COUNTED`` was called."""
        return sum(self.calls[name] for name in _COUNTED[what])

    def text(self, title: str) -> str:
        """Return one line."""
        counts = ", ".join(f"{self.count(what)} {what}" for what in _COUNTED)
        return f"{title}: {len(self.files)} files, {self.moves} moves; {counts}"


def hops(work: Callable[[], Any]) -> Hops:
    """Carry out a piece of work, and count."""
    passed: defaultdict[int, list[str]] = defaultdict(list)
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(_ROOT):
            return
        calls[frame.f_code.co_name] += 1
        files = passed[threading.get_ident()]
        if not files or files[-1] != path:
            files.append(path)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Hops(
        files=frozenset[str]().union(*passed.values()),
        moves=sum(map(len, passed.values())),
        calls=calls,
    )


def measure(warehouse: str) -> dict[str, Hops]:
    """Count an upsert without Spark, the driver's part of one with it, and a read."""
    arctic.create_table(_NAME, _SCHEMA, primary_key=["id"], warehouse=warehouse)

    def upsert() -> None:
        arctic.write(_NAME, _ROWS, mode="upsert", warehouse=warehouse)

    def read() -> None:
        arctic.read(_NAME, warehouse=warehouse).read_all()

    upsert()
    read()  # What is done once in a process is not counted.
    return {
        "an upsert": hops(upsert),
        "an upsert of Spark": hops(lambda: _saved(warehouse)),
        "a read": hops(read),
    }


def _saved(warehouse: str) -> None:
    options = {"path": _NAME, "warehouse": warehouse, "write-mode": "upsert"}
    job = begin_write(AskedWrite.of(options), _ROWS.schema)
    plan = plan_shuffle(job, _ROWS.column_names)
    assert plan is not None
    spread = _ROWS.append_column(ARRIVAL_COLUMN, pa.array([0, 1], pa.int64()))
    spread = spread.append_column(TASK_COLUMN, pa.array([0, 0], pa.int32()))
    job = spread_job(job, spread.schema, deep_nodes=plan.for_tasks(1).deep_nodes)
    commit_write(job, [write_task(job.work, spread.to_batches(), partition_id=0, task_id=0)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for title, found in measure(folder).items():
            print(found.text(title))
            if "--files" in sys.argv:
                print(*(f"  {path[len(_ROOT) :]}" for path in sorted(found.files)), sep="\n")
