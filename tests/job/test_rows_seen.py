"""Rows that a table had when it was last opened: whoever opens it says so, for that table alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import arctic
from arctic.job.reference import TableReference, parse_reference
from arctic.job.rows_seen import note_rows, rows_seen


def test_rows_of_both_stores_are_counted_each_time(tmp_path: Path) -> None:
    """Changes that base has by now as well; nobody knows them before, nor by another warehouse."""
    table = arctic.create_table(
        "db.t", pa.schema([("id", pa.int64())]), primary_key="id", warehouse=str(tmp_path)
    )
    reference = named(tmp_path)
    assert rows_seen(reference) is None

    assert note_rows(reference, reference.open()) == 0
    table.write(pa.table({"id": [1, 2, 3]}), mode="append")
    table.optimize(type="full")
    table.write(pa.table({"id": [3, 4]}), mode="append")
    assert rows_seen(reference) == 0

    assert note_rows(reference, reference.open()) == rows_seen(named(tmp_path)) == 8
    assert rows_seen(named(tmp_path / "other")) is None


def named(warehouse: Path) -> TableReference:
    """Return the table of a warehouse."""
    return parse_reference({"path": "db.t", "warehouse": str(warehouse)})
