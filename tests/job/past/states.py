"""A small table and its rows, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table as Store

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int64())])
NOW = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


def make(folder: Path, **arguments: Any) -> arctic.Table:
    """Create a table with a key."""
    given: dict[str, Any] = {"primary_key": "id", **arguments}
    return arctic.create_table("m.t", SCHEMA, warehouse=str(folder), **given)


def upsert(table: arctic.Table, **rows: int) -> None:
    """Write rows by their keys."""
    table.write(pa.table({"id": list(rows), "n": list(rows.values())}, SCHEMA), mode="upsert")


def rows_of(table: arctic.Table, **arguments: Any) -> dict[str, int]:
    """Return the rows by key, each key once."""
    rows = table.read(**arguments).read_all().to_pylist()
    found = {row["id"]: row["n"] for row in rows}
    assert len(found) == len(rows)
    return dict(sorted(found.items()))


def catalog_table(folder: Path, name: str) -> Store:
    """Return a store as PyIceberg has it."""
    return open_catalog(CatalogConfig.from_options({"warehouse": str(folder)})).load_table(name)
