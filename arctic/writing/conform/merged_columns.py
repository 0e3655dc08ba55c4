"""The columns that a table gets so that it can take a frame: new ones, and wider types.

Rules:
    - Nothing is dropped, narrowed or renamed, and no part of a column within a column is changed.
    - Columns of the key and of partitions keep their types; their values are taken where they fit.

Must not know: how a table is changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from arctic.columns.promotions import promotes, storage_type
from arctic.errors import InvalidInputError

RESERVED = "_arctic_"
"""How the names of columns begin that say where rows are stored and what is done with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedColumns:
    """What changes."""

    add: dict[str, pa.Field]
    """New columns in the order of the frame; all of them take null."""
    widen: dict[str, pa.DataType]

    def __bool__(self) -> bool:
        """Say whether anything does."""
        return bool(self.add or self.widen)

    def applied(self, schema: pa.Schema) -> pa.Schema:
        """Return what the columns of the table become."""
        fields = [
            field.with_type(self.widen[field.name]) if field.name in self.widen else field
            for field in schema
        ]
        return pa.schema([*fields, *self.add.values()])


def merged_columns(
    incoming: pa.Schema,
    schema: pa.Schema,
    *,
    table_name: str,
    helpers: Collection[str],
    held: Collection[str],
) -> MergedColumns:
    """Compare the columns of a frame with those of a table.

    Args:
        incoming: the columns of the frame.
        schema: those of the table.
        table_name: for messages.
        helpers: columns that the write itself reads; they are not added.
        held: columns of the table whose types stay.

    Raises:
        InvalidInputError: a new column whose name differs from another one by its case alone, or
            is one that reads and commands give to columns of their own.
    """
    spelt = {name.lower(): name for name in schema.names}
    add: dict[str, pa.Field] = {}
    widen: dict[str, pa.DataType] = {}
    for field in incoming:
        kind = storage_type(field.type)
        if field.name in schema.names:
            if field.name not in held and promotes(schema.field(field.name).type, kind):
                widen[field.name] = kind
        elif field.name not in helpers:
            if field.name.lower().startswith(RESERVED):
                raise InvalidInputError(
                    f"column {field.name!r} is not added to table {table_name!r}: names that begin "
                    f"with {RESERVED!r} are reserved; rename the column"
                )
            other = spelt.setdefault(field.name.lower(), field.name)
            if other != field.name:
                raise InvalidInputError(
                    f"column {field.name!r} is not added to table {table_name!r}: {other!r} is "
                    "another one to Python and the same to SQL; rename it to that, or otherwise"
                )
            add[field.name] = pa.field(field.name, kind)
    return MergedColumns(add=add, widen=widen)
