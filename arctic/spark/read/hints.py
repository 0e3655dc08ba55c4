"""Filters of a query, from the nested lists of the protocol to row filters.

Rules:
    - A hint may only leave out rows for which Spark's own filter is not true. What cannot be said
      exactly here is dropped: Spark evaluates every filter again.
    - Where ``NOT`` goes is decided in ``filter_tree``, as for filters of every other form.

Must not know: sessions, scans.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.literals import internal_literal
from arctic.spark.base.protocol import BINARY, COLUMN, DECIMAL, VALUE, Hint
from arctic.table.files import Value
from arctic.table.filters.filter_tree import Certain, Filter, Join, Negation, predicate_of
from arctic.table.filters.predicate import TURNED, And, ColumnTest, Op, Predicate, conjunction
from arctic.table.table_description import Column, TableDescription
from arctic.tree.touched_nodes import TouchedNodes

_NODES = "NODES"
_NULL_SAFE = "<=>"
_COMPARISONS = {
    "=": Op.EQ,
    _NULL_SAFE: Op.EQ,
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


def hinted_filter(hints: Sequence[Hint], table: TableDescription) -> Predicate | None:
    """Return what a scan may test already; None: nothing.

    Args:
        hints: predicates that must all hold, as
            ``[["AND", [">", {"column": "id"}, {"value": 5}], ["IS_NULL", {"column": "name"}]]]``.
        table: the table whose columns are named.
    """
    columns = {column.name: column for column in table.columns}
    found = [_exact(hint, columns) for hint in hints]
    return conjunction(tuple(hint for hint in found if hint is not None))


def nodes_hint(nodes: TouchedNodes) -> Hint:
    """Return nodes as a hint, which no predicate of Spark's is."""
    return [_NODES, nodes.mask, sorted(nodes.indexes)]


def hinted_nodes(hints: Sequence[Hint]) -> TouchedNodes | None:
    """Return the nodes outside of which a scan wants no row; None: it wants any."""
    for name, *operands in hints:
        if name == _NODES:
            return TouchedNodes(mask=operands[0], indexes=frozenset(operands[1]))
    return None


def exact_filter(hints: Sequence[Hint], table: TableDescription) -> Predicate:
    """Return what holds exactly where all of these do.

    Raises:
        InvalidInputError: one of them has no such form.
    """
    columns = {column.name: column for column in table.columns}
    found = []
    for hint in hints:
        predicate = _exact(hint, columns)
        if predicate is None:
            raise InvalidInputError(
                f"table {table.name!r}: condition {hint!r} is not known here; expected comparisons "
                "of columns with values, joined by AND and OR"
            )
        found.append(predicate)
    return conjunction(tuple(found)) or And(())


def _exact(hint: Hint, columns: dict[str, Column]) -> Predicate | None:
    try:
        return predicate_of(_filter(hint, columns))
    except _NotExact:
        return None


def _filter(node: Hint, columns: dict[str, Column]) -> Filter:
    name, *operands = node
    if name == "NOT":
        return Negation(_filter(operands[0], columns))
    if name in ("AND", "OR"):
        return Join(name == "AND", tuple(_filter(child, columns) for child in operands))
    test = _test(name, operands, columns)
    return Certain(test) if name == _NULL_SAFE else test


def _test(name: str, operands: Sequence[Any], columns: dict[str, Column]) -> ColumnTest:
    if name in _NULL_TESTS and _is_column(operands, 0):
        column = _column(operands[0], columns)
        return ColumnTest.of(_NULL_TESTS[name], column)
    if name == "IN" and _is_column(operands, 0) and len(operands) > 1:
        column = _column(operands[0], columns)
        literals = tuple(dict.fromkeys(_literal(part, column) for part in operands[1:]))
        return ColumnTest.of(Op.IN, column, literals)
    op = _COMPARISONS.get(name)
    if op is None or len(operands) != 2:
        raise _NotExact
    if _is_column(operands, 1) and op in TURNED:
        op, operands = TURNED[op], operands[::-1]
    if not _is_column(operands, 0):
        raise _NotExact
    column = _column(operands[0], columns)
    return ColumnTest.of(op, column, _literal(operands[1], column))


def _is_column(operands: Sequence[Any], place: int) -> bool:
    return len(operands) > place and isinstance(operands[place], dict) and COLUMN in operands[place]


def _column(operand: dict[str, str], columns: dict[str, Column]) -> Column:
    column = columns.get(operand[COLUMN])
    if column is None:
        raise _NotExact
    return column


def _literal(operand: Any, column: Column) -> Value:
    if not isinstance(operand, dict) or column.type in _UNORDERED:
        raise _NotExact
    if DECIMAL in operand:
        value: Any = Decimal(operand[DECIMAL])
    elif BINARY in operand:
        value = base64.b64decode(operand[BINARY])
    elif VALUE in operand:
        value = operand[VALUE]
    else:
        raise _NotExact
    try:
        return internal_literal(value, column.type)
    except (InvalidInputError, UnsupportedError) as error:
        raise _NotExact from error
