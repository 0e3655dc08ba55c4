"""How many rows a read returns at most."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.cdc.engine import most_threads
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_scan import begin_changes
from arctic.job.edit.rows_among import rows_among
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import table_reference
from arctic.job.views.most_rows import most_rows
from arctic.job.views.workspace import MOST_BYTES, workspace
from arctic.options import Scope

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])


def _rows(ids: range, city: str) -> pa.Table:
    return pa.table([list(ids), [city] * len(ids)], schema=SCHEMA)


@pytest.mark.parametrize("is_keyed", [True, False], ids=["keyed", "unkeyed"])
def test_no_read_returns_more_rows_than_its_files_say(tmp_path: Path, is_keyed: bool) -> None:
    """Of rows as they are, of what became of rows, and of the difference that replaced them."""
    key = ["id"] if is_keyed else []
    table = arctic.create_table("d.t", SCHEMA, primary_key=key, warehouse=str(tmp_path))
    place = {"path": "d.t", "warehouse": str(tmp_path)}
    append = "upsert" if is_keyed else "append"
    table.write(_rows(range(10), "Rome"), mode=append)
    reads = [rows_among(table_reference(place).open(), AskedRead.of(place), SCHEMA.names, None)]
    if is_keyed:
        table.optimize(type="full")
    table.write(_rows(range(5, 20), "Oslo"), mode=append)
    given = {**place, "change-rows": "net", "start-version": "1"}
    reads.append(begin_changes(AskedChanges.of(given, Scope.CHANGES)))
    table.write(_rows(range(30), "Kyiv"), mode="overwrite")
    if is_keyed:
        reads.append(begin_changes(AskedChanges.of(given, Scope.CHANGES)))

    told = [(read.table().num_rows, most_rows(read)) for read in reads]

    assert all(0 < found <= most for found, most in told), told


def test_few_rows_are_worked_on_by_one_thread() -> None:
    """Each thread groups and joins for itself, which costs more than few rows do."""
    with workspace() as space:
        counts = []
        for rows in (0, 1_000, 1_000_000_000, 1_000):
            space.expect(rows)
            counts.append(space.numbers("SELECT current_setting('threads')"))

    assert counts == [(1,), (1,), (most_threads(MOST_BYTES),), (most_threads(MOST_BYTES),)]
