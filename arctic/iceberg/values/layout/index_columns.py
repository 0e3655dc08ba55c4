"""For which columns files have bloom filters, as a property of the table.

Rules:
    - Iceberg's own property for a column means the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.schema import Schema

from arctic.errors import InvalidInputError
from arctic.options import INDEX_COLUMNS
from arctic.options.indexed_columns import check_shares, indexed_columns

_UNHASHED = ("boolean",)


def check_index(properties: Mapping[str, str], schema: Schema) -> None:
    """Refuse columns that have no filter, and filters that no writer can make.

    Args:
        properties: of the table; the columns that Arctic's own names are there.
        schema: its columns.

    Raises:
        InvalidInputError: naming the column and its type, or the property.
    """
    check_shares(properties)
    names = {field.name for field in schema.fields}
    for name in indexed_columns(properties):
        kind = schema.find_field(name).field_type if name in names else None
        if kind is not None and (not kind.is_primitive or str(kind) in _UNHASHED):
            raise InvalidInputError(
                f"table property {INDEX_COLUMNS.name}: column {name!r} of type {kind} cannot be "
                "indexed; expected columns of numbers, texts or times"
            )
