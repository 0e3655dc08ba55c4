"""Reads from beginning to end: what other engines add is honoured, and plans travel."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import begin_scan
from tests.iceberg.stores import (
    append,
    commit_files,
    make,
    overwrite,
    position_delete,
    reopened,
    row,
)


def ids(folder: Path, **arguments: object) -> list[int]:
    """Return the keys that a read of db.t yields."""
    table = arctic.read("db.t", warehouse=str(folder), **arguments).read_all()  # type: ignore[arg-type]
    numbers: list[int] = sorted(table.column("id").to_pylist())
    return numbers


@pytest.mark.parametrize("keyed", [True, False])
def test_position_deletes_of_another_engine_hide_their_rows(tmp_path: Path, keyed: bool) -> None:
    """A delete file with a name of Iceberg's own applies to base rows, beside change deletes."""
    opened = make(tmp_path, key=("id",) if keyed else (), partition_by=())
    overwrite(opened, [row(1), row(2), row(3), row(4)], up_to=0 if keyed else None)
    opened = reopened(opened)
    (data,) = list_files(opened, pin(opened.refreshed()), field_ids=(), row_filter=None).base
    delete = position_delete(opened, [(data.path, 1)], (), "00000-0-foreign-deletes.parquet")
    commit_files(opened.base, delete)
    if keyed:
        append(reopened(opened), [row(9)], [row(3)])

    left = [1, 4, 9] if keyed else [1, 3, 4]
    assert ids(tmp_path) == left
    assert ids(tmp_path, filter="id > 1") == left[1:]
    assert ids(tmp_path, options={"store": "base"}) == [1, 3, 4]


def test_a_reader_and_its_groups_travel_small(tmp_path: Path) -> None:
    """Executors get paths and numbers: no catalog, no bounds."""
    warehouse = str(tmp_path)
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    arctic.create_table("a.t", schema, primary_key=["id"], warehouse=warehouse)
    rows = pa.table({"id": range(1000), "name": ["x" * 50] * 1000}, schema=schema)
    arctic.write("a.t", rows, mode="upsert", warehouse=warehouse)
    job = begin_scan(AskedRead.of({"path": "a.t", "warehouse": warehouse}))

    reader = pickle.loads(pickle.dumps(job.reader))
    groups = [pickle.loads(pickle.dumps(group)) for group in job.groups]

    assert sum(batch.num_rows for group in groups for batch in reader.read(group)) == 1000
    files = sum(len(task.data) + len(task.change_deletes) for g in groups for task in g.tasks)
    assert len(pickle.dumps(job.groups)) < 1_000 + 500 * files
    assert len(pickle.dumps(job.reader)) < 4_000
