"""Columns of the table that a frame does not have: whether it may be written all the same.

An upsert replaces whole rows, so what it lacks would be lost: that is only done on request.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as pt

from arctic.errors import InvalidInputError
from arctic.writing.target import MissingColumns, WriteMode, WriteRequest


def check_missing(
    incoming: pa.Schema, table_schema: pa.Schema, *, table_name: str, request: WriteRequest
) -> None:
    """Refuse a frame that lacks optional columns, where that would lose stored values.

    Args:
        incoming: the frame's schema, which fits the table otherwise.
        table_schema: the table's.
        table_name: for messages.
        request: what is asked for.

    Raises:
        InvalidInputError: naming the columns.
    """
    if request.mode is WriteMode.DELETE:
        return
    names = [field.name for field in table_schema if field.name not in incoming.names]
    parts = [
        part
        for field in table_schema
        if field.name in incoming.names
        for part in _missing_parts(incoming.field(field.name).type, field.type, field.name)
    ]
    become = request.missing_become
    if become is MissingColumns.REFUSE and (names or parts):
        raise InvalidInputError(
            f"{request.mode.value} into table {table_name!r}: the frame lacks "
            f"{', '.join([*names, *parts])}, so the values that are stored there would become "
            "null; add the columns, or set missing-columns=keep to leave what is stored, or "
            "missing-columns=null"
        )
    if become is MissingColumns.KEEP and parts:
        raise InvalidInputError(
            f"option missing-columns = 'keep': the frame lacks {', '.join(parts)} of table "
            f"{table_name!r}, and only whole columns are kept; add what is missing, or leave the "
            "whole column out"
        )


def _missing_parts(incoming: pa.DataType, wanted: pa.DataType, name: str) -> Iterator[str]:
    """Yield the fields that a nested type lacks, dotted; the types fit otherwise."""
    if pt.is_dictionary(incoming):
        incoming = incoming.value_type
    if pt.is_struct(wanted):
        given = {field.name: field.type for field in incoming}
        for field in wanted:
            part = f"{name}.{field.name}"
            if field.name in given:
                yield from _missing_parts(given[field.name], field.type, part)
            else:
                yield part
    elif pt.is_map(wanted):
        yield from _missing_parts(incoming.item_type, wanted.item_type, f"{name}.value")
    elif pt.is_list(wanted):
        yield from _missing_parts(incoming.value_type, wanted.value_type, f"{name}.element")
