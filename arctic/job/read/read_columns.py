"""The columns of a read: what there is, and what of it is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from arctic.columns.field_ids import child_fields, with_child_fields
from arctic.columns.nullable import nullable_throughout
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.mor.request import META_FIELDS


def change_columns(opened: OpenTable) -> pa.Schema:
    """Return the columns of a change store's rows.

    A delete by key has no value for the other columns, whatever the table requires of them.
    """
    return pa.schema([*changed_columns(opened), *META_FIELDS])


def changed_columns(opened: OpenTable) -> list[pa.Field]:
    """Return the table's columns in changes, which may be null but for those of the key."""
    key = opened.table.primary_key
    return [
        field if field.name in key else nullable_throughout(field) for field in opened.arrow_schema
    ]


def project(
    schema: pa.Schema, columns: Sequence[str] | None, *, table_name: str, there: str = "it has"
) -> pa.Schema:
    """Return the columns that are wanted, in their order; all if None.

    Args:
        schema: what there is.
        columns: names.
        table_name: for the message.
        there: how the message leads to what there is.

    Raises:
        InvalidInputError: a column is named twice.
        NotFoundError: an unknown column.
    """
    if columns is None:
        return schema
    if len(set(columns)) != len(columns):
        raise InvalidInputError(f"columns {list(columns)!r}: a column is named twice")
    for name in columns:
        if name not in schema.names:
            raise NotFoundError(
                f"table {table_name!r} has no column {name!r}; {there} {', '.join(schema.names)}"
            )
    return pa.schema([schema.field(name) for name in columns])


def check_types(ours: pa.Schema, requested: pa.Schema) -> None:
    """Refuse a given schema that says other types than the table, or that a column has no null.

    An engine that was told so looks for no null, and takes what stands in the place of one.

    Raises:
        InvalidInputError: naming the first such column.
    """
    for field, wanted in zip(ours, requested, strict=True):
        if _of_any_width(field.type) != wanted.type:
            raise InvalidInputError(
                f"column {field.name!r} is {field.type} in the table, but the given schema says "
                f"{wanted.type}; give the table's type and cast the column after reading"
            )
        if not wanted.nullable:
            _check_required(field)


def _of_any_width(kind: pa.DataType) -> pa.DataType:
    """Return a type as engines have it that know no bytes of a fixed length, at any depth."""
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    fields = child_fields(kind)
    if not fields:
        return kind
    return with_child_fields(kind, [each.with_type(_of_any_width(each.type)) for each in fields])


def check_required(ours: pa.Schema, names: Iterable[str]) -> None:
    """Refuse columns of which a caller takes it that they have no null, and the table does not.

    Args:
        ours: all columns.
        names: of the columns; one that is gone is not asked for.

    Raises:
        InvalidInputError: naming the first such column.
    """
    for name in names:
        if name in ours.names:
            _check_required(ours.field(name))


def _check_required(field: pa.Field) -> None:
    if field.nullable:
        raise InvalidInputError(
            f"column {field.name!r} may be null in the table, but the given schema says NOT NULL; "
            "give one in which it may, or read the table anew, if the frame or view is from before "
            "it took null"
        )
