"""Filters that engines push down with a scan, and do not test again themselves.

DuckDB and Polars write them as pyarrow expressions and mean them as they compare themselves: NaN is
the greatest number and equal to itself, -0.0 and 0.0 are the same. To pyarrow NaN compares with
nothing. So tests of floating columns are written anew here, as pyarrow must see them.

Rules:
    - What comes out keeps exactly the rows that the engine means, or the filter is refused.
    - Tests of floating columns never leave out files: a filter of Arctic means NaN as pyarrow does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.errors import UnsupportedError
from arctic.iceberg.filters.arrow_filter import words_of

_TURNED = {
    "less": "greater", "less_equal": "greater_equal", "greater": "less",
    "greater_equal": "less_equal", "equal": "equal", "not_equal": "not_equal",
}  # fmt: skip
_ANDS = ("and", "and_kleene")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFilter:
    """A filter of an engine."""

    whole: pc.Expression
    """As pyarrow evaluates it."""
    plain: tuple[pc.Expression, ...]
    """Parts of it that must all be true and test no floating column."""
    is_plain: bool
    """Whether these are all of it."""
    columns: tuple[str, ...]
    """The top-level columns that it tests."""


class _Node(NamedTuple):
    expression: pc.Expression
    type: pa.DataType | None
    """Of a column or a value; None: a condition."""
    literal: pa.Scalar | None
    floating: bool
    parts: tuple[tuple[pc.Expression, bool], ...]


def engine_filter(expression: pc.Expression, schema: pa.Schema) -> EngineFilter:
    """Take an expression apart, and write its tests of floating columns as the engine means them.

    Args:
        expression: of columns by their names.
        schema: the columns of the table.

    Raises:
        UnsupportedError: a test of a floating column that has no form here.
    """
    row, words = words_of(expression)
    fields = _fields(words)
    columns = tuple(dict.fromkeys(names[0] for names in fields))
    floating = any(pt.is_floating(_type(names, schema)) for names in fields)
    try:
        parts = _rebuilt(row, words, schema).parts
    except UnsupportedError:
        if floating:
            raise
        parts = ((expression, False),)
    plain = tuple(part for part, is_floating in parts if not is_floating)
    return EngineFilter(
        whole=reduce(and_, (part for part, _ in parts)),
        plain=plain,
        is_plain=len(plain) == len(parts),
        columns=columns,
    )


def _fields(words: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    found = []
    for at, (kind, text) in enumerate(words):
        if kind == "nested_field_ref":
            found.append(tuple(name for _, name in words[at + 1 : at + 1 + int(text)]))
        elif kind == "field_ref" and not _is_step(words, at):
            found.append((text,))
    return found


def _is_step(words: Sequence[tuple[str, str]], at: int) -> bool:
    """Say whether a name is one of those that a nested column's begins to count."""
    return any(
        kind == "nested_field_ref" and before + int(text) >= at
        for before, (kind, text) in enumerate(words[:at])
    )


def _type(names: Sequence[str], schema: pa.Schema) -> pa.DataType:
    found = schema.field(names[0]).type
    for name in names[1:]:
        found = found.field(name).type
    return found


def _rebuilt(row: pa.RecordBatch, words: Sequence[tuple[str, str]], schema: pa.Schema) -> _Node:
    levels: list[list[Any]] = [[]]
    waiting = iter(words)
    for kind, text in waiting:
        given = levels[-1]
        if kind == "field_ref":
            given.append(_column((text,), schema))
        elif kind == "nested_field_ref":
            names = tuple(next(waiting)[1] for _ in range(int(text)))
            given.append(_column(names, schema))
        elif kind == "literal":
            value = row.column(int(text))[0]
            given.append(_node(pc.scalar(value), type=value.type, literal=value))
        elif kind == "options":
            given.append(dict(row.column(int(text))[0].items()))
        elif kind == "call":
            levels.append([])
        else:
            operands = levels.pop()
            options = operands.pop() if isinstance(operands[-1], dict) else {}
            levels[-1].append(_call(text, operands, options))
    found: _Node = levels[0][0]
    return found


def _node(
    expression: pc.Expression,
    *,
    type: pa.DataType | None = None,
    literal: pa.Scalar | None = None,
    floating: bool = False,
) -> _Node:
    return _Node(expression, type, literal, floating, ((expression, floating),))


def _column(names: tuple[str, ...], schema: pa.Schema) -> _Node:
    kind = _type(names, schema)
    return _node(pc.field(*names), type=kind, floating=pt.is_floating(kind))


def _call(name: str, operands: Sequence[_Node], options: Mapping[str, Any]) -> _Node:
    floating = any(each.floating for each in operands)
    if name in _ANDS:
        parts = tuple(part for each in operands for part in each.parts)
        return _Node(reduce(and_, (part for part, _ in parts)), None, None, floating, parts)
    if name in _TURNED and floating:
        return _node(_compared(name, *operands), floating=True)
    if name == "is_in":
        return _node(_within(operands[0], options), floating=floating)
    make = _CALLS.get(name)
    if make is None:
        raise _unknown(name)
    return _node(
        make(*(each.expression for each in operands), **_named(options)), floating=floating
    )


def _compared(name: str, left: _Node, right: _Node) -> pc.Expression:
    if left.literal is not None:
        name, left, right = _TURNED[name], right, left
    column, value = left.expression, right.literal
    if value is None or left.type is None:
        raise _unknown(f"{name} of two columns")
    nan = pc.is_nan(column)
    if value.is_valid and pt.is_floating(value.type) and math.isnan(value.as_py()):
        is_known = column == column  # false of NaN, null of null
        return {
            "less": ~nan,
            "less_equal": is_known | nan,
            "greater": ~is_known & ~nan,
            "greater_equal": nan,
            "equal": nan,
            "not_equal": ~nan,
        }[name]
    plain: pc.Expression = getattr(pc, name)(column, right.expression)
    # Nothing is known of a comparison with null.
    return plain | nan if name in ("greater", "greater_equal") and value.is_valid else plain


def _within(column: _Node, options: Mapping[str, Any]) -> pc.Expression:
    behavior = options["null_matching_behavior"].as_py()
    if behavior not in (0, 1):
        raise _unknown("is_in with another meaning of null")
    values = options["value_set"].values
    if behavior:
        values = values.drop_null()
    if not column.floating:
        return column.expression.isin(values)
    # A set tells -0.0 from 0.0 until 0.0 is added; as doubles all of them compare exactly.
    wide = values.cast(pa.float64())
    return pc.add(column.expression.cast(pa.float64()), pc.scalar(0.0)).isin(pc.add(wide, 0.0))


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.as_py() for name, value in options.items() if name != "_type_name"}


_CALLS: Mapping[str, Callable[..., pc.Expression]] = {
    "or": pc.or_kleene,
    "or_kleene": pc.or_kleene,
    "invert": pc.invert,
    "is_null": pc.is_null,
    "is_valid": pc.is_valid,
    "is_nan": pc.is_nan,
    **{name: getattr(pc, name) for name in _TURNED},
}


def _unknown(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"filter: {what} of a floating column; read the column and filter the rows in the engine"
    )
