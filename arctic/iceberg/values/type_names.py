"""Types as texts: the names that Iceberg gives them, and the ones that SQL has for the same."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.exceptions import ValidationError
from pyiceberg.types import NestedField

from arctic.errors import InvalidInputError
from arctic.iceberg.values.schema import arrow_type, check_iceberg_type

_OF_SQL = {"bigint": "long", "integer": "int", "real": "float", "bool": "boolean"}


def named_type(text: str, *, column: str) -> pa.DataType:
    """Return the type that a text names.

    >>> named_type("decimal(9, 2)", column="price")
    Decimal128Type(decimal128(9, 2))

    Args:
        text: one without fields of its own.
        column: that is to have it, for a message.

    Raises:
        InvalidInputError: no such type, or none that a column can have.
    """
    name = text.strip().lower()
    try:
        field = NestedField(field_id=1, name="x", field_type=_OF_SQL.get(name, name))
    except (ValueError, ValidationError) as error:
        raise InvalidInputError(
            f"column {column!r}: no type {text!r}; expected one of Iceberg's, such as int, long, "
            "double, string, date, timestamptz or decimal(9,2)"
        ) from error
    check_iceberg_type(column, field.field_type)
    return arrow_type(field.field_type)
