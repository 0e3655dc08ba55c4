"""Column types: Iceberg's and Arrow's, one to one.

Rules:
    - A type is converted only if every value survives: what would overflow, lose precision or
      change its meaning is refused, and the message names the column.
    - The Arrow side has small types only and carries field ids, nested ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pyarrow as pa
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.table.table_description import Column

FIELD_ID = b"PARQUET:field_id"
"""Metadata key that pyarrow stores as the Parquet field id."""

RESERVED_NAMES = frozenset({"_transaction_id", "_file_offset", "_change_action"})
"""Columns that change files and looks at one store add."""

_UTC = frozenset({"UTC", "+00:00", "Etc/UTC", "Z"})
_PLAIN: dict[type[IcebergType], Any] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", tz="UTC"),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    # Plain bytes: neither Spark nor the kernels that merge know Arrow's uuid extension.
    UUIDType: pa.binary(16),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow form of a table's schema, in column order.

    Raises:
        UnsupportedError: a type that only exists in format version 3.
    """
    return pa.schema([_arrow_field(column) for column in schema.columns])


def arrow_type(iceberg_type: IcebergType) -> pa.DataType:
    """Return the Arrow form of one type.

    Raises:
        UnsupportedError: a type that only exists in format version 3.
    """
    if isinstance(iceberg_type, StructType):
        return pa.struct([_arrow_field(child) for child in iceberg_type.fields])
    if isinstance(iceberg_type, ListType):
        return pa.list_(_arrow_field(iceberg_type.element_field))
    if isinstance(iceberg_type, MapType):
        return pa.map_(_arrow_field(iceberg_type.key_field), _arrow_field(iceberg_type.value_field))
    if isinstance(iceberg_type, DecimalType):
        return pa.decimal128(iceberg_type.precision, iceberg_type.scale)
    if isinstance(iceberg_type, FixedType):
        return pa.binary(len(iceberg_type))
    plain = _PLAIN.get(type(iceberg_type))
    if plain is None:
        raise UnsupportedError(f"type {iceberg_type}: only the types of format version 2 are known")
    return plain


def iceberg_schema(schema: pa.Schema | Schema) -> Schema:
    """Return the schema of a new table, with ids as Iceberg numbers them: columns first.

    Raises:
        InvalidInputError: a column of a type that would not survive, or names that Spark or the
            format cannot tell apart; the message names the column.
    """
    if isinstance(schema, Schema):
        fields = tuple(schema.columns)
        for column in fields:
            _check_iceberg_field(column.name, column)
    elif not isinstance(schema, pa.Schema):
        raise InvalidInputError(
            f"schema of type {type(schema).__name__!r}; expected a pyarrow or PyIceberg schema"
        )
    else:
        fields = tuple(_iceberg_field(column, column.name) for column in schema)
    if not fields:
        raise InvalidInputError("schema has no columns; expected at least one")
    _check_names("", fields)
    for column in fields:
        if column.name.lower() in RESERVED_NAMES:
            raise InvalidInputError(
                f"column {column.name!r}: the name is reserved for change files"
            )
    fresh: Schema = assign_fresh_schema_ids(Schema(*fields))
    return fresh


def with_required(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Return the schema with these columns required; ids stay.

    Raises:
        InvalidInputError: a name that is no top-level column.
    """
    known = [column.name for column in schema.columns]
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"primary key column {name!r} is no column; expected some of {', '.join(known)}"
            )
    return Schema(
        *[
            column.model_copy(update={"required": True}) if column.name in names else column
            for column in schema.columns
        ]
    )


def _arrow_field(column: NestedField) -> pa.Field:
    return pa.field(
        column.name,
        arrow_type(column.field_type),
        nullable=column.optional,
        metadata={FIELD_ID: str(column.field_id)},
    )


def _iceberg_field(column: pa.Field, path: str) -> NestedField:
    doc = (column.metadata or {}).get(b"doc") or (column.metadata or {}).get(b"comment")
    return NestedField(
        field_id=-1,
        name=column.name,
        field_type=_iceberg_type(column.type, path),
        required=not column.nullable,
        doc=doc.decode() if doc else None,
    )


def _iceberg_type(arrow: pa.DataType, path: str) -> IcebergType:
    if pa.types.is_struct(arrow):
        return StructType(*[_iceberg_field(child, f"{path}.{child.name}") for child in arrow])
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        element = arrow.value_field
        return ListType(
            -1,
            _iceberg_type(element.type, f"{path}.element"),
            element_required=not element.nullable,
        )
    if pa.types.is_map(arrow):
        return MapType(
            -1,
            _iceberg_type(arrow.key_type, f"{path}.key"),
            -1,
            _iceberg_type(arrow.item_type, f"{path}.value"),
            value_required=not arrow.item_field.nullable,
        )
    found = _primitive(arrow)
    if isinstance(found, str):
        raise InvalidInputError(f"column {path!r}: Arrow type {arrow} {found}")
    return found


def _primitive(arrow: pa.DataType) -> IcebergType | str:
    """Return the Iceberg type, or why there is none and what to use."""
    for matches, found in _PRIMITIVES:
        if matches(arrow):
            return cast("IcebergType | str", found() if callable(found) else found)
    if pa.types.is_decimal128(arrow):
        if 0 <= arrow.scale <= arrow.precision:
            return DecimalType(arrow.precision, arrow.scale)
        return "has a scale outside 0 to its precision"
    if pa.types.is_fixed_size_binary(arrow):
        return FixedType(arrow.byte_width)
    if pa.types.is_timestamp(arrow):
        if arrow.unit == "ns":
            return "would lose its nanoseconds; cast it to microseconds"
        if arrow.tz is None:
            return TimestampType()
        return TimestamptzType() if arrow.tz in _UTC else "has another zone than UTC; convert it"
    return "has no Iceberg type that every reader knows; cast it"


_PRIMITIVES: tuple[tuple[Callable[[Any], bool], Any], ...] = (
    (pa.types.is_boolean, BooleanType),
    (pa.types.is_int8, IntegerType),
    (pa.types.is_int16, IntegerType),
    (pa.types.is_int32, IntegerType),
    (pa.types.is_int64, LongType),
    (pa.types.is_unsigned_integer, "has no sign, which Iceberg and Spark do not know; cast it"),
    (pa.types.is_float16, "would be stored as float; cast it to float32"),
    (pa.types.is_float32, FloatType),
    (pa.types.is_float64, DoubleType),
    (pa.types.is_date32, DateType),
    (lambda arrow: arrow == pa.time64("us"), TimeType),
    (pa.types.is_string, StringType),
    (pa.types.is_large_string, StringType),
    (pa.types.is_string_view, StringType),
    (pa.types.is_binary, BinaryType),
    (pa.types.is_large_binary, BinaryType),
    (pa.types.is_binary_view, BinaryType),
    (lambda arrow: arrow == pa.uuid(), "is unknown to Spark; use string or fixed-size binary"),
)


def _check_iceberg_field(path: str, column: NestedField) -> None:
    if column.initial_default is not None or column.write_default is not None:
        raise InvalidInputError(f"column {path!r}: default values need Iceberg format version 3")
    check_iceberg_type(path, column.field_type)


def check_iceberg_type(path: str, iceberg_type: IcebergType) -> None:
    """Refuse a type that no column of a table can have; the path names it in the message."""
    for child_path, child in _children(path, iceberg_type):
        _check_iceberg_field(child_path, child)
    if isinstance(iceberg_type, UUIDType):
        raise InvalidInputError(
            f"column {path!r}: type uuid is unknown to Spark; use string or fixed[16]"
        )
    known = {StructType, ListType, MapType, DecimalType, FixedType, *_PLAIN}
    if type(iceberg_type) not in known:
        raise InvalidInputError(
            f"column {path!r}: type {iceberg_type} is not one of Iceberg's format version 2"
        )


def _children(path: str, iceberg_type: IcebergType) -> Iterator[tuple[str, NestedField]]:
    fields: tuple[NestedField, ...] = ()
    if isinstance(iceberg_type, StructType):
        fields = iceberg_type.fields
    elif isinstance(iceberg_type, ListType):
        fields = (iceberg_type.element_field,)
    elif isinstance(iceberg_type, MapType):
        fields = (iceberg_type.key_field, iceberg_type.value_field)
    yield from ((f"{path}.{child.name}", child) for child in fields)


def _check_names(prefix: str, fields: tuple[NestedField, ...]) -> None:
    seen: dict[str, str] = {}
    for position, column in enumerate(fields):
        if not column.name or "." in column.name:
            raise InvalidInputError(
                f"column {prefix + column.name!r}: a name must not be empty or contain '.', which "
                "separates nested names"
            )
        twin = seen.setdefault(column.name.lower(), column.name)
        if len(seen) <= position:
            raise InvalidInputError(
                f"column {prefix + column.name!r}: {prefix + twin!r} differs only in case, which "
                "Spark cannot tell apart"
            )
        _check_nested_names(prefix + column.name, column.field_type)


def _check_nested_names(path: str, iceberg_type: IcebergType) -> None:
    if isinstance(iceberg_type, StructType):
        _check_names(f"{path}.", iceberg_type.fields)
    for child_path, child in _children(path, iceberg_type):
        if not isinstance(iceberg_type, StructType):
            _check_nested_names(child_path, child.field_type)


def described_columns(schema: Schema) -> tuple[Column, ...]:
    """Return the top-level columns, in schema order, as values that need no PyIceberg."""
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
