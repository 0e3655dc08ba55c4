"""Small tables whose rows are edited, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import arctic

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("city", pa.string()),
        pa.field("n", pa.int32()),
        pa.field("x", pa.float64()),
    ]
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "city": "Rome", "n": 1, "x": 1.5},
    {"id": 2, "city": "Oslo", "n": None, "x": float("inf")},
    {"id": 3, "city": None, "n": 3, "x": None},
    {"id": 4, "city": "Rome", "n": 4, "x": 4.0},
    {"id": 5, "city": "Bern", "n": 5, "x": 5.0},
]
LAYOUTS: dict[str, dict[str, Any]] = {
    "keyed": {"primary_key": "id"},
    "moving": {"primary_key": "id", "partition_by": ["city"]},
    "in key": {"primary_key": ["id"], "partition_by": ["bucket(2, id)"]},
    "no key": {},
    "no key, partitions": {"partition_by": ["city"]},
}


def make(folder: Path, layout: str, *, merged: bool = False) -> arctic.Table:
    """Create a table that holds ``ROWS`` in two commits, both merged if told to."""
    table = arctic.create_table(
        "m.t",
        SCHEMA,
        warehouse=str(folder),
        **LAYOUTS[layout],
    )
    table.write(pa.Table.from_pylist(ROWS[:3], SCHEMA))
    if merged:
        table.optimize(type="full")
    table.write(pa.Table.from_pylist(ROWS[3:], SCHEMA))
    return table


def rows_of(table: arctic.Table, **arguments: Any) -> list[dict[str, Any]]:
    """Return the rows by id."""
    rows: list[dict[str, Any]] = table.read(**arguments).read_all().to_pylist()
    return sorted(rows, key=lambda row: (row["id"], str(row)))


def ids_of(table: arctic.Table) -> list[int]:
    """Return the ids of all rows."""
    return [row["id"] for row in rows_of(table)]
