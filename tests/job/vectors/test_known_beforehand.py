"""Dead rows that are known before a read begins: used where they hold, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.columns.integers.row_set import RowSet
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.read_task import MergeReader
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.job.vectors import deletion_vectors, known_beforehand
from arctic.job.vectors.known_beforehand import DEAD_BEFOREHAND, LEAST_ROWS, DeadBeforehand
from arctic.scan.task import NodeTaskGroup

NAME = "db.t"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("value", pa.int64()),
        pa.field("at", pa.int64()),
    ]
)


def rows(ids: Any, value: int) -> pa.Table:
    """Return rows of some keys."""
    count = len(ids)
    return pa.table({"id": ids, "value": [value] * count, "at": [value] * count}, schema=SCHEMA)


class Lake:
    """One table of a folder."""

    def __init__(self, folder: Path, **arguments: Any) -> None:
        self.folder = str(folder)
        self.table = arctic.create_table(
            NAME, SCHEMA, primary_key=["id"], warehouse=self.folder, **arguments
        )

    def write(self, ids: Any, value: int, mode: str = "upsert") -> None:
        """Write rows of some keys."""
        arctic.write(NAME, rows(ids, value), mode=mode, warehouse=self.folder)

    def job(self, **arguments: Any) -> ScanJob:
        """Plan a read."""
        asked = AskedRead.of({"path": NAME, "warehouse": self.folder})
        return scan_opened(asked.reference.open(), asked, **arguments)

    def read(self, **arguments: Any) -> dict[int, int]:
        """Read values by keys, as whoever reads in this process does."""
        given = arctic.read(NAME, warehouse=self.folder, columns=["id", "value"], **arguments)
        return values(given.read_all())


def values(table: pa.Table) -> dict[int, int]:
    """Return values by keys, each of which is there once."""
    ids = table.column("id").to_pylist()
    assert len(set(ids)) == len(ids)
    return dict(zip(ids, table.column("value").to_pylist(), strict=True))


class Told(NamedTuple):
    """What is left to read of all groups of a job."""

    groups: tuple[NodeTaskGroup, ...]
    dead: dict[str, RowSet]


def told(before: DeadBeforehand, job: ScanJob, *, wants_all: bool = True) -> Told:
    """Return what is left to read of a job."""
    assert isinstance(job.reader, MergeReader)
    request, io = job.reader.request, job.reader.io
    known = [before.of(group, request, io, wants_all=wants_all) for group in job.groups]
    dead = {path: rows for each in known for path, rows in each.dead.items()}
    return Told(tuple([each.group for each in known]), dead)


def read_by(before: DeadBeforehand, job: ScanJob) -> dict[int, int]:
    """Read what is left of a job."""
    assert isinstance(job.reader, MergeReader)
    known = told(before, job)
    reader = replace(job.reader, dead=known.dead)
    batches = [batch for group in known.groups for batch in reader.read(group)]
    return values(pa.Table.from_batches(batches, schema=job.schema))


def deletes(job: ScanJob | Told) -> set[str]:
    """Return the paths of all change deletes that are read."""
    return {
        delete.path
        for group in job.groups
        for task in group.tasks
        for delete in task.change_deletes
    }


def test_large_files_are_read_without_deletes_once_these_are_known(tmp_path: Path) -> None:
    """No delete and no key is read of a file of many rows; small ones beside it are merged."""
    lake = Lake(
        tmp_path,
        properties={"base.file-index.hash-bucket": "1", "change.file-index.hash-bucket": "1"},
    )
    lake.write(range(2 * LEAST_ROWS), 0)
    lake.write(range(LEAST_ROWS), 1)
    job, before = lake.job(columns=["id", "value"]), DeadBeforehand()
    known = told(before, job)
    assert deletes(job)
    assert not deletes(known)
    assert len(known.dead) == 2
    lake.write(range(5), 2)
    job = lake.job(columns=["id", "value"])
    known = told(before, job)
    assert [bool(task.change_deletes) for task in known.groups[0].tasks] == [False, True]
    assert read_by(before, job) == lake.read()


def test_reads_of_this_process_go_by_what_it_found_out(tmp_path: Path) -> None:
    """One read of all rows is enough; the rows are the same each time."""
    lake = Lake(tmp_path)
    lake.write(range(4 * 4 * LEAST_ROWS), 0)
    lake.write(range(10), 1)
    assert not told(DEAD_BEFOREHAND, lake.job(), wants_all=False).dead
    assert sum(lake.read().values()) == 10
    assert told(DEAD_BEFOREHAND, lake.job(), wants_all=False).dead
    assert sum(lake.read().values()) == 10
    assert set(lake.read(filter="value = 1")) == set(range(10))


def test_tables_of_any_size_are_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than is looked up beside tasks, too: who reads all of it merges no less at a time."""
    lake = Lake(tmp_path)
    monkeypatch.setattr(deletion_vectors, "FEW_ROWS", 10)
    lake.write(range(100), 0)
    lake.write(range(50), 1)
    job, before = lake.job(columns=["id", "value"]), DeadBeforehand(least_rows=1)
    assert not deletes(told(before, job))
    assert read_by(before, job) == lake.read()


def test_files_that_are_far_are_looked_into_by_the_second_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads them once opens each of them once."""
    lake = Lake(tmp_path)
    monkeypatch.setattr(known_beforehand, "is_local", lambda location: False)
    lake.write(range(100), 0)
    lake.write(range(50), 1)
    whole, before = lake.job(columns=["id", "value"]), DeadBeforehand(least_rows=1)
    assert told(before, whole).groups == whole.groups
    assert not deletes(told(before, whole))
    assert read_by(before, whole) == lake.read()


def test_who_stops_early_or_filters_looks_nothing_up(tmp_path: Path) -> None:
    """Such a read may use what others have looked up."""
    lake = Lake(tmp_path)
    lake.write(range(100), 0)
    lake.write(range(50), 1)
    whole, before = lake.job(), DeadBeforehand(least_rows=1)
    for _ in range(3):
        assert told(before, whole, wants_all=False).groups == whole.groups
    told(before, whole)
    assert not deletes(told(before, whole, wants_all=False))


@pytest.mark.parametrize(
    "properties",
    [
        {"write.ordering-columns": "at"},
        {"write.merge-engine": "first-row"},
        {"write.merge-engine": "partial-update"},
    ],
)
def test_rows_that_die_by_more_than_deletes_are_merged(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    """Rows of a key are held against one another there."""
    lake = Lake(tmp_path, properties=properties)
    lake.write(range(100), 1)
    lake.write(range(50), 0)
    job, before = lake.job(), DeadBeforehand(least_rows=1)
    for _ in range(3):
        assert told(before, job).groups == job.groups


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_a_merge_whatever_happened_between(tmp_path: Path, seed: int) -> None:
    """Upserts, deletes, optimizing, states of the past, in any order."""
    random = np.random.default_rng(seed)
    lake, before = Lake(tmp_path), DeadBeforehand(least_rows=int(random.integers(1, 30)))
    expected: dict[int, int] = {}
    for step in range(14):
        ids = random.choice(200, int(random.integers(1, 60)), replace=False)
        what = random.choice(["upsert", "upsert", "delete", "minor", "full", "restore"])
        if not step or what == "upsert":
            lake.write(ids, step)
            expected.update(dict.fromkeys(ids.tolist(), step))
        elif what == "delete":
            lake.write(ids, step, mode="delete")
            expected = {key: value for key, value in expected.items() if key not in ids}
        elif what == "restore":
            versions = lake.table.versions().column("version").to_pylist()
            past = int(random.choice(versions))
            lake.table.restore(version=past)
            expected = lake.read(version=past)
        else:
            arctic.optimize(NAME, type=what, warehouse=lake.folder)
        for _ in range(int(random.integers(1, 4))):
            assert read_by(before, lake.job(columns=["id", "value"])) == expected
