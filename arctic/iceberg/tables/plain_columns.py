"""Columns that any Parquet reader finds in every file of a table, as the table has them now."""

from __future__ import annotations

from pyiceberg import types

from arctic.iceberg.tables.open_table import OpenTable

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
_NAME_MAPPING = "schema.name-mapping.default"


def plain_columns(opened: OpenTable) -> frozenset[str]:
    """Return the names of the columns that a reader may look up by name alone.

    Left out are nested columns, those whose name or type was ever changed, and those whose name
    once belonged to another column, in whatever case: readers that go by names would take the
    wrong one, or none.
    """
    base = opened.base
    if _NAME_MAPPING in base.properties:
        return frozenset()
    history = [field for schema in base.metadata.schemas for field in schema.columns]
    return frozenset(
        column.name
        for column in base.schema().columns
        if isinstance(column.field_type, _PLAIN)
        and all(
            (then.field_id, then.name, then.field_type)
            == (column.field_id, column.name, column.field_type)
            for then in history
            if then.field_id == column.field_id or then.name.lower() == column.name.lower()
        )
    )


def ever_had(opened: OpenTable, name: str) -> bool:
    """Say whether a file of either store can have a column of a name, in whatever case."""
    stores = [opened.base, *([] if opened.change is None else [opened.change])]
    return any(
        column.name.lower() == name.lower()
        for store in stores
        for schema in store.metadata.schemas
        for column in schema.columns
    )
