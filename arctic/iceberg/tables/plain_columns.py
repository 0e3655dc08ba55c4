"""Columns that any Parquet reader finds in every file of a table, as the table has them now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyiceberg import types
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import NestedField

from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.name_mapping import NAME_MAPPING

_PLAIN = (
    types.BinaryType,
    types.BooleanType,
    types.DateType,
    types.DecimalType,
    types.DoubleType,
    types.FloatType,
    types.IntegerType,
    types.LongType,
    types.StringType,
    types.TimestampType,
    types.TimestamptzType,
)
_SAME_EVERYWHERE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that every writer writes as they are; Iceberg's spell others in letters that Avro takes."""


def odd_columns(opened: OpenTable) -> Mapping[str, str]:
    """Return the columns that a reader must not look up by name alone, each with why.

    Those are nested columns, those whose name or type was ever changed, and those whose name once
    belonged to another column, in whatever case: readers that go by names would take the wrong
    one, or none. Where the metadata forgot a schema nobody knows, so it is every column.
    """
    base = opened.base
    columns = base.schema().columns
    if NAME_MAPPING in base.properties:
        why = f"{NAME_MAPPING} says that files of others may have other columns"
        return dict.fromkeys((column.name for column in columns), why)
    if not _has_all_schemas(base.metadata):
        why = "the metadata has forgotten which columns the table had before"
        return dict.fromkeys((column.name for column in columns), why)
    history = [field for schema in base.metadata.schemas for field in schema.columns]
    told = {column.name: _oddness(column, history) for column in columns}
    return {name: why for name, why in told.items() if why is not None}


def odd_for_others(opened: OpenTable) -> Mapping[str, str]:
    """Return the columns that files of other writers may have otherwise, each with why.

    Iceberg lets a file leave out a column that its partition gives the value of.
    """
    table = opened.table
    given = {field.source_id for field in table.partition_fields if field.transform == "identity"}
    return {
        column.name: (
            "its value may stand in the partition alone"
            if column.field_id in given
            else "its name may be spelt otherwise in a file"
        )
        for column in table.columns
        if column.field_id in given or not _SAME_EVERYWHERE.fullmatch(column.name)
    }


def ever_had(opened: OpenTable, name: str) -> bool:
    """Say whether a file of either store can have a column of a name, in whatever case."""
    stores = [opened.base, *([] if opened.change is None else [opened.change])]
    return any(
        column.name.lower() == name.lower()
        for store in stores
        for schema in store.metadata.schemas
        for column in schema.columns
    )


def _has_all_schemas(metadata: TableMetadata) -> bool:
    """Say whether no schema is missing, as far as a store tells; cleaning may drop old ones.

    They are counted from 0, so one between others leaves a gap. The last ones, after which an older
    schema became the current one again, leave one where they had a column that no other has: those
    are counted from 1. A name that was changed and changed back leaves none.
    """
    schemas = metadata.schemas
    numbers = {schema.schema_id for schema in schemas}
    fields = {field_id for schema in schemas for field_id in schema.field_ids}
    return numbers == set(range(len(schemas))) and fields == set(
        range(1, metadata.last_column_id + 1)
    )


def _oddness(column: NestedField, history: Sequence[NestedField]) -> str | None:
    if not isinstance(column.field_type, _PLAIN):
        return f"it is of type {column.field_type}"
    for then in history:
        if then.field_id == column.field_id or then.name.lower() == column.name.lower():
            if then.field_id != column.field_id:
                return "another column had its name before"
            if then.name != column.name:
                return f"it was called {then.name!r} before"
            if then.field_type != column.field_type:
                return f"it was of type {then.field_type} before"
    return None
