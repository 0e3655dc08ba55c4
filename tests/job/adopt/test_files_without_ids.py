"""Adopted files without field ids: what the name mapping says of them, while columns change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

import arctic
from arctic.iceberg.values.name_mapping import NAME_MAPPING
from tests.iceberg.plain_readers import by_duckdb, by_pyiceberg, plain_catalog

Row = dict[str, Any]
SPOT = StructType(NestedField(6, "x", LongType(), required=False))
TAG = StructType(NestedField(10, "v", StringType(), required=False))
PLACE = StructType(
    NestedField(3, "city", StringType(), required=False),
    NestedField(4, "spots", ListType(5, SPOT, element_required=False), required=False),
    NestedField(7, "tags", MapType(8, StringType(), 9, TAG, value_required=False), required=False),
)
COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "place", PLACE, required=False),
)
STORED = pa.schema(
    [
        ("id", pa.int64()),
        (
            "place",
            pa.struct(
                [
                    ("city", pa.string()),
                    ("spots", pa.list_(pa.struct([("x", pa.int64())]))),
                    ("tags", pa.map_(pa.string(), pa.struct([("v", pa.string())]))),
                ]
            ),
        ),
    ]
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A warehouse with an Arctic table in it, so that its catalog is there."""
    warehouse = tmp_path / "warehouse"
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=str(warehouse))
    return str(warehouse)


def stored_place(number: int) -> Row:
    """Return a value as the files have it."""
    return {
        "city": f"city {number}",
        "spots": [{"x": number}, None],
        "tags": [("k", {"v": f"v {number}"})],
    }


def place(number: int) -> Row:
    """Return the same value under the names that its fields have later."""
    return {
        "town": f"city {number}",
        "spots": [{"y": number}, None],
        "tags": [("k", {"w": f"v {number}"})],
        "more": None,
    }


def rename(table: Table) -> None:
    """Give the nested fields other names, and the struct one more."""
    with table.update_schema() as update:
        update.rename_column("place.city", "town")
        update.rename_column("place.spots.x", "y")
        update.rename_column("place.tags.v", "w")
        update.add_column(("place", "more"), LongType())


def in_order(rows: pa.Table) -> list[Row]:
    """Return rows in the order of their keys."""
    found: list[Row] = sorted(rows.to_pylist(), key=lambda row: row["id"])
    return found


def test_renamed_nested_fields_of_files_without_ids_keep_their_values(
    folder: str, tmp_path: Path
) -> None:
    """By every reader as by PyIceberg, and after a run of optimizing that wrote them anew."""
    given = tmp_path / "given.parquet"
    rows = [{"id": number, "place": stored_place(number)} for number in range(4)]
    pq.write_table(pa.Table.from_pylist(rows, STORED), given)
    with plain_catalog(folder) as catalog:
        made = catalog.create_table("db.t", COLUMNS, properties={"format-version": "2"})
        made.add_files([f"file://{given}"])
        rename(made)
    expected = [{"id": number, "place": place(number)} for number in range(4)]
    assert in_order(by_pyiceberg(folder, "db.t")) == expected

    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)

    def check() -> None:
        assert in_order(table.read().read_all()) == expected
        assert in_order(table.dataset().to_table()) == expected
        assert table.read(filter="id = 2").read_all().to_pylist() == [expected[2]]
        for output in ("v2", "clean"):
            table.publish(into=f"db.{output}", output=output)
            assert in_order(by_pyiceberg(folder, f"db.{output}")) == expected

    check()
    expected[1] = {"id": 1, "place": {**place(7), "more": 7}}
    table.write(pa.Table.from_pylist([expected[1]], table.schema), mode="upsert")
    check()
    table.optimize(type="full")
    check()
    assert in_order(by_pyiceberg(folder, "db.t")) == expected
    assert in_order(by_duckdb(folder, "db.t")) == expected


def readings(folder: str, tmp_path: Path) -> Any:
    """Adopt a folder with a row."""
    (tmp_path / "readings").mkdir()
    pq.write_table(pa.table({"id": [1], "value": [0.5]}), tmp_path / "readings" / "a.parquet")
    return arctic.adopt(
        "db.t", primary_key="id", files=str(tmp_path / "readings"), warehouse=folder
    )


def add_file(folder: str, tmp_path: Path, rows: Iterable[Row]) -> None:
    """Add a file without ids, as other writers do."""
    path = tmp_path / "later.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    with plain_catalog(folder) as catalog:
        catalog.load_table("db.t").add_files([f"file://{path}"])


def mapping(folder: str, name: str) -> str | None:
    """Return what a table says of files without ids."""
    with plain_catalog(folder) as catalog:
        text: str | None = catalog.load_table(name).properties.get(NAME_MAPPING)
        return text


def test_files_that_come_after_a_change_of_columns_are_read_by_their_names(
    folder: str, tmp_path: Path
) -> None:
    """New columns and new names go into the mapping, of every store and what is published."""
    table = readings(folder, tmp_path)
    table.publish(into="db.shown")
    nested = pa.struct([("by", pa.string())])
    with plain_catalog(folder) as catalog:
        other = catalog.create_table(
            "db.plain",
            catalog.load_table("db.t").schema(),
            properties={NAME_MAPPING: str(mapping(folder, "db.t"))},
        )
        with other.update_schema() as update:
            update.rename_column("value", "amount")
            update.add_column(
                "note", StructType(NestedField(9, "by", StringType(), required=False))
            )

    table = table.evolve_schema(add={"note": nested}, rename={"value": "amount"})

    assert mapping(folder, "db.t") == mapping(folder, "db.plain")
    assert mapping(folder, "db.t_change_") == mapping(folder, "db.plain")
    add_file(folder, tmp_path, [{"id": 2, "amount": 0.7, "note": {"by": "late"}}])
    expected = [
        {"id": 1, "amount": 0.5, "note": None},
        {"id": 2, "amount": 0.7, "note": {"by": "late"}},
    ]
    assert in_order(table.read().read_all()) == expected
    table.publish(into="db.shown")
    assert in_order(by_pyiceberg(folder, "db.shown")) == expected
    table = table.evolve_schema(rename={"amount": "value"})
    assert [row["value"] for row in in_order(table.read().read_all())] == [0.5, 0.7]


@pytest.mark.parametrize(
    "change",
    [
        {"drop": ["value"], "add": {"value": pa.string()}},
        {"rename": {"value": "amount"}, "add": {"value": pa.float64()}},
    ],
    ids=["dropped", "renamed"],
)
def test_a_name_of_files_without_ids_is_no_other_columns(
    folder: str, tmp_path: Path, change: dict[str, Any]
) -> None:
    """Old values would come back in it, now or after any later change."""
    table = readings(folder, tmp_path)
    with pytest.raises(arctic.InvalidInputError, match="no other column can be called 'value'"):
        table.evolve_schema(**change)
    assert table.read().read_all().to_pylist() == [{"id": 1, "value": 0.5}]

    table.evolve_schema(**{name: part for name, part in change.items() if name != "add"})
    with pytest.raises(arctic.InvalidInputError, match="no other column can be called 'value'"):
        table.refresh().evolve_schema(add=change["add"])
