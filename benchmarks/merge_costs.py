"""What ordering columns and merge engines cost, beside ``pypaimon``: ``make bench-merge-engines``.

One table for each of them is loaded, changed by five upserts of 2 %, a quarter of their rows late,
read, optimized and read again. ``pypaimon`` does the same in its own environment, but does not
compact; and it shows nothing of a first-row table that is not compacted. Where both read, their
rows are compared. Seconds of the clock; both use as many threads as they like.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from benchmarks.peers.environments import PEERS, ROOT, interpreter

BATCHES, SHARE = 5, 50
"""Upserts, and which part of the rows each has."""
NAMES = ["id", "at", "amount", "most", "status", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What becomes of the rows of a key, as each of the two is told."""

    name: str
    ours: dict[str, str] = field(default_factory=dict)
    theirs: dict[str, str] = field(default_factory=dict)
    is_shown: bool = True
    """Whether ``pypaimon`` reads it."""


KINDS = (
    Kind(name="last row"),
    Kind(
        name="ordering",
        ours={"write.ordering-columns": "at"},
        theirs={"sequence.field": "at"},
    ),
    Kind(
        name="first-row",
        ours={"write.merge-engine": "first-row"},
        theirs={"merge-engine": "first-row"},
        is_shown=False,
    ),
    Kind(
        name="partial-update",
        ours={"write.merge-engine": "partial-update"},
        theirs={"merge-engine": "partial-update"},
    ),
    Kind(
        name="aggregate",
        ours={
            "write.merge-engine": "aggregate",
            "write.merge-engine.aggregate-functions": "amount: sum, most: max, at: max",
        },
        theirs={
            "merge-engine": "aggregation",
            "fields.amount.aggregate-function": "sum",
            "fields.most.aggregate-function": "max",
            "fields.at.aggregate-function": "max",
        },
    ),
)


def main() -> None:
    """Print a line for each kind and system."""
    parser = argparse.ArgumentParser(prog="make bench-merge-engines", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    given = parser.parse_args()
    peer = next(peer for peer in PEERS if peer.name == "pypaimon")
    command = [str(interpreter(peer)), "-m", "benchmarks.peers.systems.pypaimon_merges"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    print(f"{given.rows:,} rows, {BATCHES} upserts of {given.rows // SHARE:,}; seconds")
    print(f"{'':<15} {'':<9}{'load':>8}{'upserts':>9}{'read':>8}{'compact':>9}{'read':>8}")
    with (
        tempfile.TemporaryDirectory(prefix="arctic-bench-") as scratch,
        subprocess.Popen(command, cwd=ROOT, **pipes) as other,
    ):
        folder = Path(scratch)
        sources = _sources(folder, given.rows)
        for kind in KINDS:
            ours, mine = _arctic(folder, kind, sources)
            theirs, found = _pypaimon(folder, kind, sources, other)
            _print(kind.name, "arctic", ours)
            _print("", "pypaimon", theirs)
            if found is not None and not _same(mine, found):
                raise SystemExit(f"{kind.name}: the rows differ")
        assert other.stdin is not None
        other.stdin.close()


def _sources(folder: Path, rows: int) -> list[str]:
    """Write the rows of the load and of each upsert to files."""
    random = np.random.default_rng(1)
    sources = []
    for number in range(BATCHES + 1):
        ids = np.arange(rows) if not number else random.choice(rows, rows // SHARE, replace=False)
        late = random.random(len(ids)) < (0.25 if number else 0)
        # Of two events of a key none is as old as the other.
        at = np.where(late, -number, number) * rows + ids
        table = pa.table(
            [
                pa.array(ids, pa.int64()),
                pa.array(at, pa.int64()),
                pa.array(random.integers(1, 1_000, len(ids)), pa.int64()),
                pa.array(random.integers(1, 1_000, len(ids)), pa.int64()),
                pa.array(np.array(["placed", "paid", "sent"])[random.integers(0, 3, len(ids))]),
                pa.array([f"note {each}" for each in random.integers(0, 10**6, len(ids))]),
            ],
            schema=pa.schema(
                [
                    pa.field("id", pa.int64(), nullable=False),
                    *(pa.field(name, pa.int64()) for name in NAMES[1:4]),
                    *(pa.field(name, pa.string()) for name in NAMES[4:]),
                ]
            ),
        )
        sources.append(str(folder / f"source-{number}.parquet"))
        pq.write_table(table, sources[-1])
    return sources


def _arctic(folder: Path, kind: Kind, sources: list[str]) -> tuple[list[float | None], pa.Table]:
    table = arctic.create_table(
        "d.t",
        pq.read_schema(sources[0]),
        primary_key="id",
        properties=kind.ours,
        warehouse=str(folder / f"arctic-{kind.name}"),
    )
    load, *upserts = [lambda each=each: table.write(pq.read_table(each)) for each in sources]
    taken: list[float | None] = [_timed(load)[0], sum(_timed(each)[0] for each in upserts)]
    seconds, before = _timed(lambda: table.read().read_all())
    compact, _ = _timed(lambda: table.optimize(type="full"))
    again, after = _timed(lambda: table.read().read_all())
    if not _same(before, after):
        raise SystemExit(f"{kind.name}: optimizing changed rows")
    return [*taken, seconds, compact, again], after


def _pypaimon(
    folder: Path, kind: Kind, sources: list[str], other: subprocess.Popen[str]
) -> tuple[list[float | None], pa.Table | None]:
    def call(verb: str, **given: Any) -> float:
        print(json.dumps({"verb": verb, **given}), file=other.stdin, flush=True)
        assert other.stdout is not None
        return float(json.loads(other.stdout.readline()))

    call(
        "create",
        folder=str(folder / f"pypaimon-{kind.name}"),
        source=sources[0],
        options=kind.theirs,
    )
    load, *upserts = [call("write", source=each) for each in sources]
    target = str(folder / "found.parquet")
    seconds = call("read", target=target) if kind.is_shown else None
    found = pq.read_table(target) if kind.is_shown else None
    return [load, sum(upserts), seconds, None, None], found


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found


def _same(some: pa.Table, others: pa.Table) -> bool:
    some, others = (each.select(NAMES).sort_by("id").combine_chunks() for each in (some, others))
    return bool(some.equals(others.cast(some.schema)))


def _print(name: str, system: str, taken: list[float | None]) -> None:
    widths = (8, 9, 8, 9, 8)
    told = ("-" if each is None else f"{each:.2f}" for each in taken)
    line = "".join(f"{text:>{width}}" for text, width in zip(told, widths, strict=True))
    print(f"{name:<15} {system:<9}{line}", flush=True)


if __name__ == "__main__":
    main()
