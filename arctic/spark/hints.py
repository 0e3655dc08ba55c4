"""Filters of a query, from the nested lists that ``ArcticTable.java`` sends to row filters.

Rules:
    - A hint may only leave out rows for which Spark's own filter is not true. What cannot be said
      exactly here is dropped: Spark evaluates every filter again.
    - ``NOT`` is pushed down to the tests, where it means "is false", not "is not true": a
      comparison with null is neither.

Must not know: sessions, scans.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.literals import internal_literal
from arctic.table.files import Value
from arctic.table.filter_tree import predicate_of
from arctic.table.keyed_table import Column, KeyedTable
from arctic.table.predicate import (
    OPPOSITES,
    TURNED,
    And,
    ColumnTest,
    Op,
    Or,
    Predicate,
    conjunction,
)

_COMPARISONS = {
    "=": Op.EQ,
    "<=>": Op.EQ,
    "<>": Op.NE,
    "<": Op.LT,
    "<=": Op.LE,
    ">": Op.GT,
    ">=": Op.GE,
    "STARTS_WITH": Op.STARTS_WITH,
}
_NULL_TESTS = {"IS_NULL": Op.IS_NULL, "IS_NOT_NULL": Op.NOT_NULL}

# Spark takes NaN for equal to itself and for the greatest number, the tests here for neither.
_UNORDERED = frozenset({"float", "double"})


class _NotExact(Exception):
    """A part of a filter that has no exact form here."""


def hinted_filter(hints: Sequence[Any], table: KeyedTable) -> Predicate | None:
    """Return what a scan may test already; None: nothing.

    Args:
        hints: predicates that must all hold, as
            ``[["AND", [">", {"column": "id"}, {"value": 5}], ["IS_NULL", {"column": "name"}]]]``.
        table: the table whose columns are named.
    """
    columns = {column.name: column for column in table.columns}
    found = [_exact(hint, columns) for hint in hints]
    return conjunction(tuple(hint for hint in found if hint is not None))


def _exact(hint: Sequence[Any], columns: dict[str, Column]) -> Predicate | None:
    try:
        return predicate_of(_is_true(hint, columns))
    except _NotExact:
        return None


def _is_true(node: Sequence[Any], columns: dict[str, Column]) -> Predicate:
    name, *operands = node
    if name == "NOT":
        return _is_false(operands[0], columns)
    if name == "AND":
        return And(tuple(_is_true(child, columns) for child in operands))
    if name == "OR":
        return Or(tuple(_is_true(child, columns) for child in operands))
    return _test(name, operands, columns, lambda op: op)


def _is_false(node: Sequence[Any], columns: dict[str, Column]) -> Predicate:
    name, *operands = node
    if name == "NOT":
        return _is_true(operands[0], columns)
    if name == "AND":
        return Or(tuple(_is_false(child, columns) for child in operands))
    if name == "OR":
        return And(tuple(_is_false(child, columns) for child in operands))
    test = _test(name, operands, columns, OPPOSITES.__getitem__)
    if name == "<=>":
        null = ColumnTest(op=Op.IS_NULL, field_id=test.field_id, column=test.column)
        return Or((test, null))
    return test


def _test(
    name: str, operands: Sequence[Any], columns: dict[str, Column], meaning: Callable[[Op], Op]
) -> ColumnTest:
    if name in _NULL_TESTS and _is_column(operands, 0):
        column = _column(operands[0], columns)
        return ColumnTest(
            op=meaning(_NULL_TESTS[name]), field_id=column.field_id, column=column.name
        )
    if name == "IN" and _is_column(operands, 0) and len(operands) > 1:
        column = _column(operands[0], columns)
        literals = tuple(dict.fromkeys(_literal(part, column) for part in operands[1:]))
        return _column_test(meaning(Op.IN), column, literals)
    op = _COMPARISONS.get(name)
    if op is None or len(operands) != 2:
        raise _NotExact
    if _is_column(operands, 1) and op in TURNED:
        op, operands = TURNED[op], operands[::-1]
    if not _is_column(operands, 0):
        raise _NotExact
    column = _column(operands[0], columns)
    return _column_test(meaning(op), column, _literal(operands[1], column))


def _column_test(op: Op, column: Column, literal: Value | tuple[Value, ...]) -> ColumnTest:
    return ColumnTest(op=op, field_id=column.field_id, column=column.name, literal=literal)


def _is_column(operands: Sequence[Any], place: int) -> bool:
    return (
        len(operands) > place and isinstance(operands[place], dict) and "column" in operands[place]
    )


def _column(operand: dict[str, str], columns: dict[str, Column]) -> Column:
    column = columns.get(operand["column"])
    if column is None:
        raise _NotExact
    return column


def _literal(operand: Any, column: Column) -> Value:
    if not isinstance(operand, dict) or column.type in _UNORDERED:
        raise _NotExact
    if "decimal" in operand:
        value: Any = Decimal(operand["decimal"])
    elif "binary" in operand:
        value = base64.b64decode(operand["binary"])
    elif "value" in operand:
        value = operand["value"]
    else:
        raise _NotExact
    try:
        return internal_literal(value, column.type)
    except (InvalidInputError, UnsupportedError) as error:
        raise _NotExact from error
