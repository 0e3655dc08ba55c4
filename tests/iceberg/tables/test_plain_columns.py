"""Which columns may be looked up by name: those of which no file can say anything else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.table import Table
from pyiceberg.table.update import RemoveSchemasUpdate
from pyiceberg.types import DoubleType

import arctic
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.plain_columns import odd_columns, odd_for_others

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("day", pa.date32()),
        pa.field("unit price", pa.float32()),
        pa.field("tags", pa.list_(pa.string())),
    ]
)


def made(folder: Path) -> arctic.Table:
    """Make a table with one row."""
    table = arctic.create_table(
        "db.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=["region", "month(day)"],
        warehouse=str(folder),
    )
    row = {"id": 1, "region": "eu", "day": None, "unit price": 1.0, "tags": ["x"]}
    table.write(pa.Table.from_pylist([row], SCHEMA), mode="upsert")
    return table


def opened(folder: Path) -> OpenTable:
    """Open it as it is now."""
    return arctic.open_table("db.t", warehouse=str(folder))._opened


def stores(folder: Path) -> list[Table]:
    """Return both stores, whose columns change in step."""
    found = opened(folder)
    assert found.change is not None
    return [found.base, found.change]


def test_nested_columns_are_found_by_no_name(tmp_path: Path) -> None:
    """The others are, in files of ours."""
    made(tmp_path)

    assert dict(odd_columns(opened(tmp_path))) == {"tags": "it is of type list<string>"}


def test_what_changed_is_told(tmp_path: Path) -> None:
    """A name, a type, and a name that is another column's now, in whatever case."""
    made(tmp_path)
    for store in stores(tmp_path):
        with store.update_schema() as update:
            update.rename_column("region", "area")
            update.update_column("unit price", DoubleType())
        with store.refresh().update_schema(case_sensitive=True) as update:
            update.add_column("Region", DoubleType())

    odd = odd_columns(opened(tmp_path))

    assert odd["area"] == "it was called 'region' before"
    assert odd["unit price"] == "it was of type float before"
    assert odd["Region"] == "another column had its name before"
    assert sorted(odd) == ["Region", "area", "tags", "unit price"]


def test_a_schema_that_was_cleaned_away_may_have_had_other_names(tmp_path: Path) -> None:
    """As Iceberg's own cleaning drops those that no snapshot names, while files still have them."""
    made(tmp_path)
    for store in stores(tmp_path):
        with store.update_schema() as update:
            update.rename_column("region", "area")
        forget = RemoveSchemasUpdate.model_validate({"schema-ids": [0]})
        store.catalog.commit_table(store.refresh(), (), (forget,))

    odd = odd_columns(opened(tmp_path))

    assert [schema.schema_id for schema in opened(tmp_path).base.metadata.schemas] == [1]
    assert set(odd) == {"id", "area", "day", "unit price", "tags"}
    assert odd["id"] == "the metadata has forgotten which columns the table had before"


def test_the_last_schemas_of_a_table_may_be_cleaned_away(tmp_path: Path) -> None:
    """Where an older one is the current one again; their columns took ids that nobody has now."""
    made(tmp_path)
    for store in stores(tmp_path):
        with store.update_schema() as update:
            update.add_column("note", DoubleType())
        with store.refresh().update_schema() as update:
            update.delete_column("note")
        forget = RemoveSchemasUpdate.model_validate({"schema-ids": [1]})
        store.catalog.commit_table(store.refresh(), (), (forget,))
        with store.refresh().update_schema() as update:
            update.add_column("note", DoubleType())

    odd = odd_columns(opened(tmp_path))

    assert [schema.schema_id for schema in opened(tmp_path).base.metadata.schemas] == [0, 1]
    assert odd["note"] == "the metadata has forgotten which columns the table had before"
    assert set(odd) == {*SCHEMA.names, "note"}


def test_files_that_were_taken_over_have_columns_of_their_own(tmp_path: Path) -> None:
    """A name mapping says that some may be there."""
    table = made(tmp_path)
    table.set_properties({"schema.name-mapping.default": "[]"})

    odd = odd_columns(opened(tmp_path))

    assert set(odd) == set(SCHEMA.names)
    assert odd["id"] == (
        "schema.name-mapping.default says that files of others may have other columns"
    )


def test_others_may_leave_out_what_a_partition_says(tmp_path: Path) -> None:
    """And spell names that not every format takes; not what a partition is only computed from."""
    made(tmp_path)

    assert odd_for_others(opened(tmp_path)) == {
        "region": "its value may stand in the partition alone",
        "unit price": "its name may be spelt otherwise in a file",
    }
