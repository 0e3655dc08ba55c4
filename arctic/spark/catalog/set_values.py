"""What Spark's UPDATE or MERGE sets columns to, from the lists of ``SetValues.java`` to Arrow.

Rules:
    - A value is what Spark makes of it, or nobody makes it here: sums that overflow are Spark's to
      refuse, in its own words.
    - All parts of a value have the type of its column.

Must not know: statements, tables.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arctic.job.edit.small_edit import NO_SOURCE, NewRows, NotHereError
from arctic.spark.base.protocol import BINARY, COLUMN, DECIMAL, VALUE

_OPERATIONS = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_INTERNAL = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}
"""What Spark has the values of a type as."""


_SOURCE = "source"


def setter(sets: Mapping[str, Any]) -> NewRows:
    """Return what makes new rows of old ones.

    Args:
        sets: the values by the names of columns.
    """

    def new_rows(rows: pa.Table, source: pa.Table = NO_SOURCE) -> pa.Table:
        made = rows
        for name, node in sets.items():
            place = rows.schema.get_field_index(name)
            if place < 0:
                raise NotHereError
            field = rows.schema.field(place)
            made = made.set_column(place, field, _column(node, rows, source, field.type))
        return made

    return new_rows


def overwritten(sets: Mapping[str, Any]) -> frozenset[str]:
    """Return the columns that are set, and of which no value is made of an old one.

    >>> overwritten({"a": {"value": 1}, "b": ["+", {"column": "b"}, {"column": "c"}]})
    frozenset({'a'})

    Args:
        sets: the values by the names of columns.
    """
    return frozenset(sets) - {name for node in sets.values() for name in _columns_of(node)}


def _columns_of(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for operand in node[1:]:
            yield from _columns_of(operand)
    elif COLUMN in node:
        yield node[COLUMN]


def _column(
    node: Any, rows: pa.Table, source: pa.Table, kind: pa.DataType
) -> pa.Array | pa.ChunkedArray:
    try:
        found = _value(node, rows, source, kind)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
        raise NotHereError from error
    if isinstance(found, pa.Scalar):
        found = pa.repeat(found, rows.num_rows)
    if found.type != kind:
        raise NotHereError
    return found


def _value(node: Any, rows: pa.Table, source: pa.Table, kind: pa.DataType) -> Any:
    if isinstance(node, list):
        name, *operands = node
        if name == _SOURCE:
            return source.column(operands[0][VALUE])
        return _OPERATIONS[name](*[_value(operand, rows, source, kind) for operand in operands])
    if COLUMN in node:
        return rows.column(node[COLUMN])
    if DECIMAL in node:
        return pa.scalar(Decimal(node[DECIMAL]), kind)
    if BINARY in node:
        return pa.scalar(base64.b64decode(node[BINARY]), kind)
    bare = pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind
    return pa.scalar(node[VALUE], _INTERNAL.get(bare, kind)).cast(kind)
