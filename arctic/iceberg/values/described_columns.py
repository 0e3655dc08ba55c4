"""The columns of a schema, as values that need no PyIceberg."""

from __future__ import annotations

from pyiceberg.schema import Schema

from arctic.table.table_description import Column


def described_columns(schema: Schema) -> tuple[Column, ...]:
    """Return the top-level columns, in schema order."""
    return tuple(
        Column(
            field_id=column.field_id,
            name=column.name,
            type=str(column.field_type),
            required=column.required,
            doc=column.doc,
        )
        for column in schema.columns
    )
