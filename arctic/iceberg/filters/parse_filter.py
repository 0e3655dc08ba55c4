"""Row filters of callers as ``Predicate``: texts, PyIceberg's expressions, pyarrow's.

Rules:
    - Literals become the internal form of the column's type exactly; PyIceberg's own binding
      rounds some and turns others into always-true.
    - A literal of PyIceberg is a number that its class gives a meaning: days of a date are no
      microseconds. It does not say whether a timestamp had a zone; it is taken as the column's.
    - Nothing here recurses: a filter may have any number of parts.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
from pyiceberg import expressions as ice
from pyiceberg.expressions import literals

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.arrow_filter import parse_expression
from arctic.iceberg.filters.column_tests import EVERYTHING, NOTHING, ColumnTests
from arctic.iceberg.filters.filter_text import parse_text
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.literals import Typed
from arctic.table.filters.filter_tree import Filter, Join, Negation, predicate_of
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate
from arctic.table.table_description import TableDescription

_COMPARISONS: dict[type[ice.LiteralPredicate], Op] = {
    ice.EqualTo: Op.EQ,
    ice.NotEqualTo: Op.NE,
    ice.LessThan: Op.LT,
    ice.LessThanOrEqual: Op.LE,
    ice.GreaterThan: Op.GT,
    ice.GreaterThanOrEqual: Op.GE,
}
_PLAIN = (
    literals.BooleanLiteral, literals.LongLiteral, literals.FloatLiteral, literals.DoubleLiteral,
    literals.DecimalLiteral, literals.StringLiteral, literals.UUIDLiteral, literals.FixedLiteral,
    literals.BinaryLiteral,
)  # fmt: skip
"""Literals whose values say alone what they are."""


def parse_filter(row_filter: Any, opened: OpenTable) -> Predicate:
    """Turn what a caller wrote into tests of this table's columns.

    Args:
        row_filter: SQL text such as ``"id > 5 and region in ('eu', 'us')"``, an unbound PyIceberg
            expression, a pyarrow expression, or a predicate, which is returned as it is.
        opened: the table whose columns are meant.

    Raises:
        InvalidInputError: what is not a filter, an unknown column, or a literal that the column's
            type cannot hold exactly.
        UnsupportedError: nested columns, tests for NaN, columns without an order, or a filter
            nested too deep.
    """
    return parse_table_filter(row_filter, opened.table)


def parse_table_filter(row_filter: Any, table: TableDescription) -> Predicate:
    """Do the work of ``parse_filter`` with only the noun."""
    if isinstance(row_filter, And | Or | ColumnTest):
        return row_filter
    tests = ColumnTests(table)
    if isinstance(row_filter, str):
        return predicate_of(parse_text(row_filter, tests))
    if isinstance(row_filter, pc.Expression):
        return predicate_of(parse_expression(row_filter, tests))
    if isinstance(row_filter, ice.BooleanExpression):
        return predicate_of(_iceberg_filter(row_filter, tests))
    raise InvalidInputError(
        f'filter of type {type(row_filter).__name__!r}; expected a text such as "id > 5", or an '
        "expression of PyIceberg or pyarrow"
    )


def _iceberg_filter(expression: ice.BooleanExpression, tests: ColumnTests) -> Filter:
    """Go through an expression with two stacks; a node comes again when its children are done."""
    waiting: list[tuple[ice.BooleanExpression, bool]] = [(expression, False)]
    done: list[Filter] = []
    while waiting:
        node, is_open = waiting.pop()
        if isinstance(node, ice.And | ice.Or):
            if is_open:
                right = done.pop()
                done.append(Join(isinstance(node, ice.And), (done.pop(), right)))
            else:
                waiting += [(node, True), (node.right, False), (node.left, False)]
        elif isinstance(node, ice.Not):
            if is_open:
                done.append(Negation(done.pop()))
            else:
                waiting += [(node, True), (node.child, False)]
        else:
            done.append(_iceberg_test(node, tests))
    return done[0]


def _iceberg_test(expression: ice.BooleanExpression, tests: ColumnTests) -> Filter:
    if isinstance(expression, ice.AlwaysTrue):
        return EVERYTHING
    if isinstance(expression, ice.AlwaysFalse):
        return NOTHING
    term = getattr(expression, "term", None)
    if isinstance(expression, ice.UnboundPredicate) and isinstance(term, ice.Reference):
        found = _unbound_test(expression, term.name, tests)
        if found is not None:
            return found
    raise UnsupportedError(
        f"filter: expected unbound comparisons, found {type(expression).__name__}"
    )


def _unbound_test(expression: ice.UnboundPredicate, name: str, tests: ColumnTests) -> Filter | None:
    if isinstance(expression, ice.IsNull):
        return tests.is_null(name)
    if isinstance(expression, ice.NotNull):
        return Negation(tests.is_null(name))
    if isinstance(expression, ice.IsNaN | ice.NotNaN):
        raise tests.no_nan_test(name)
    if isinstance(expression, ice.SetPredicate):
        values = [_value(each, name, tests) for each in expression.literals]
        found = tests.within(name, values)
        return Negation(found) if isinstance(expression, ice.NotIn) else found
    if not isinstance(expression, ice.LiteralPredicate):
        return None
    value = _value(expression.literal, name, tests)
    if isinstance(expression, ice.StartsWith):
        return tests.starts_with(name, value)
    if isinstance(expression, ice.NotStartsWith):
        return Negation(tests.starts_with(name, value))
    if type(expression) in _COMPARISONS:
        return tests.compare(name, _COMPARISONS[type(expression)], value)
    return None


def _value(literal: literals.Literal[Any], name: str, tests: ColumnTests) -> Any:
    """Return what a literal says to a column."""
    if isinstance(literal, literals.DateLiteral):
        return Typed("date", literal.value)
    if isinstance(literal, literals.TimeLiteral):
        return Typed("time", literal.value)
    if isinstance(literal, literals.TimestampLiteral):
        has_zone = tests.type_of(name) == "timestamptz"
        return Typed("timestamptz" if has_zone else "timestamp", literal.value)
    if isinstance(literal, _PLAIN):
        return literal.value
    raise UnsupportedError(
        f"filter on column {name!r}: {literal!r} of PyIceberg is not offered; expected a plain "
        "value, a date or a time"
    )
