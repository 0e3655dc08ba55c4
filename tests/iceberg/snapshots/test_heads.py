"""Heads of tables: what changed, and what cannot be loaded."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

import arctic
from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import load_table, open_catalog
from arctic.iceberg.snapshots import heads
from arctic.iceberg.snapshots.heads import catalog_heads, loads_of
from tests.iceberg.stores import config_of

SCHEMA = pa.schema([("id", pa.int64())])


def test_the_places_of_a_table_change_with_either_of_its_stores(tmp_path: Path) -> None:
    """And with nothing else; change stores are no tables of their own."""
    warehouse, config = str(tmp_path), config_of(tmp_path)
    keyed = arctic.create_table("db.keyed", SCHEMA, primary_key="id", warehouse=warehouse)
    arctic.create_table("db.plain", SCHEMA, warehouse=warehouse)
    before = catalog_heads(config, loads=loads_of(threads=2))
    assert [(head.name, len(head.places)) for head in before.tables] == [
        ("db.keyed", 2),
        ("db.plain", 1),
    ]
    assert catalog_heads(config, loads=loads_of(threads=1)) == before

    keyed.write(pa.table({"id": [1]}), mode="upsert")
    written = catalog_heads(config, loads=loads_of(threads=2)).tables
    keyed.set_properties({"self-optimizing.group": "etl"})
    changed = catalog_heads(config, loads=loads_of(threads=2)).tables

    assert written[1] == changed[1] == before.tables[1]
    assert len({before.tables[0].places, written[0].places, changed[0].places}) == 3
    assert changed[0].properties["self-optimizing.group"] == "etl"


def test_a_store_that_cannot_be_loaded_keeps_nobody_else_away(tmp_path: Path) -> None:
    """It is named with its reason."""
    warehouse, config = str(tmp_path), config_of(tmp_path)
    for name in ("bad", "good"):
        arctic.create_table(f"db.{name}", SCHEMA, warehouse=warehouse)
    catalog = open_catalog(config)
    bad = load_table(catalog, ("db", "bad"))
    assert bad is not None
    Path(urlparse(bad.metadata_location).path).unlink()

    found = catalog_heads(config, loads=loads_of(threads=2))

    assert [head.name for head in found.tables] == ["db.good"]
    assert isinstance(found.broken["db.bad"], ArcticError)


def test_what_was_seen_before_is_loaded_only_where_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that is a database says so in one query; a dropped table is not remembered."""
    warehouse, config = str(tmp_path), config_of(tmp_path)
    for name in ("a", "b", "c"):
        arctic.create_table(f"db.{name}", SCHEMA, primary_key="id", warehouse=warehouse)
    before = catalog_heads(config, loads=loads_of(threads=2))
    arctic.set_properties("db.b", {"owner": "me"}, warehouse=warehouse)
    arctic.drop_table("db.c", warehouse=warehouse)
    loaded: list[tuple[str, ...]] = []

    def counted(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
        loaded.append(identifier)
        return load_table(catalog, identifier)

    monkeypatch.setattr(heads, "load_table", counted)
    now = catalog_heads(config, loads=loads_of(threads=2), before=before)

    assert sorted(loaded) == [("db", "b"), ("db", "b_change_")]
    assert now == catalog_heads(config, loads=loads_of(threads=2))
    assert [head.name for head in now.tables] == ["db.a", "db.b"]
