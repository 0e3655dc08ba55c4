"""Row filters: from text or a PyIceberg expression to ``Predicate``, and back for pruning.

Rules:
    - Literals become the internal form of the column's type exactly; PyIceberg's own binding
      rounds some and turns others into always-true.
    - Columns are top-level and named with their exact case.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from pyiceberg import expressions as ice
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import rewrite_not
from pyparsing import ParseBaseException

from arctic.errors import InternalError, InvalidInputError, UnsupportedError
from arctic.iceberg.literals import internal_literal, nearest_float
from arctic.iceberg.open_table import OpenTable
from arctic.table.files import Value
from arctic.table.keyed_table import Column, KeyedTable
from arctic.table.predicate import And, ColumnTest, Op, Or, Predicate

__all__ = ["internal_literal", "parse_filter", "to_expression"]

_NULL_TESTS: dict[type[ice.UnaryPredicate], Op] = {
    ice.IsNull: Op.IS_NULL,
    ice.NotNull: Op.NOT_NULL,
}
_COMPARISONS: dict[type[ice.LiteralPredicate], Op] = {
    ice.EqualTo: Op.EQ,
    ice.NotEqualTo: Op.NE,
    ice.LessThan: Op.LT,
    ice.LessThanOrEqual: Op.LE,
    ice.GreaterThan: Op.GT,
    ice.GreaterThanOrEqual: Op.GE,
    ice.StartsWith: Op.STARTS_WITH,
    ice.NotStartsWith: Op.NOT_STARTS_WITH,
}
_SETS: dict[type[ice.SetPredicate], Op] = {ice.In: Op.IN, ice.NotIn: Op.NOT_IN}
_CONSTRUCTORS: dict[Op, Callable[..., ice.BooleanExpression]] = {
    op: kind for table in (_NULL_TESTS, _COMPARISONS, _SETS) for kind, op in table.items()
}


def parse_filter(
    row_filter: str | ice.BooleanExpression | Predicate, opened: OpenTable
) -> Predicate:
    """Turn what a caller wrote into tests of this table's columns.

    Args:
        row_filter: SQL text such as ``"id > 5 and region in ('eu', 'us')"``, an unbound PyIceberg
            expression, or a predicate, which is returned as it is.
        opened: the table whose columns are meant.

    Raises:
        InvalidInputError: text that is not a filter, an unknown column, or a literal that the
            column's type cannot hold exactly.
        UnsupportedError: nested columns, tests for NaN, or columns without an order.
    """
    return parse_table_filter(row_filter, opened.table)


def parse_table_filter(
    row_filter: str | ice.BooleanExpression | Predicate, table: KeyedTable
) -> Predicate:
    """Do the work of ``parse_filter`` with only the noun."""
    if isinstance(row_filter, str):
        row_filter = _parse(row_filter)
    if not isinstance(row_filter, ice.BooleanExpression):
        return row_filter
    return _predicate(rewrite_not(row_filter), table)


def to_expression(predicate: Predicate) -> ice.BooleanExpression:
    """Return the PyIceberg expression that tests the same, unbound."""
    if isinstance(predicate, And):
        return _folded(ice.And, ice.AlwaysTrue(), predicate.children)
    if isinstance(predicate, Or):
        return _folded(ice.Or, ice.AlwaysFalse(), predicate.children)
    term = ice.Reference(predicate.column)
    construct = _CONSTRUCTORS[predicate.op]
    if predicate.op in (Op.IS_NULL, Op.NOT_NULL):
        return construct(term)
    if isinstance(predicate.literal, tuple):
        return construct(term, set(predicate.literal))
    return construct(term, predicate.literal)


def _folded(
    join: Callable[..., ice.BooleanExpression],
    start: ice.BooleanExpression,
    children: tuple[Predicate, ...],
) -> ice.BooleanExpression:
    result = start
    for child in children:
        result = join(result, to_expression(child))
    return result


def _parse(text: str) -> ice.BooleanExpression:
    try:
        return parse(text)
    except ParseBaseException as error:
        raise InvalidInputError(
            f"filter {text!r}: not understood near {text[error.loc :]!r}; expected comparisons "
            "such as \"id > 5 and region in ('eu', 'us')\""
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"filter {text!r}: {error}") from error


def _predicate(expression: ice.BooleanExpression, table: KeyedTable) -> Predicate:
    if isinstance(expression, ice.And):
        return And((_predicate(expression.left, table), _predicate(expression.right, table)))
    if isinstance(expression, ice.Or):
        return Or((_predicate(expression.left, table), _predicate(expression.right, table)))
    if isinstance(expression, ice.AlwaysTrue):
        return And(())
    if isinstance(expression, ice.AlwaysFalse):
        return Or(())
    if isinstance(expression, ice.UnboundPredicate) and isinstance(expression.term, ice.Reference):
        return _test(expression, _column(expression.term.name, table))
    raise UnsupportedError(
        f"filter {expression}: expected unbound comparisons, found {type(expression).__name__}"
    )


def _test(expression: ice.UnboundPredicate, column: Column) -> Predicate:
    if isinstance(expression, ice.UnaryPredicate):
        if type(expression) not in _NULL_TESTS:
            raise UnsupportedError(f"filter on column {column.name!r}: NaN cannot be tested for")
        return _column_test(_NULL_TESTS[type(expression)], column, None)
    if isinstance(expression, ice.SetPredicate):
        literals = {_literal(literal.value, column) for literal in expression.literals}
        # Sets have no order; the same filter must make the same plan.
        ordered: Any = tuple(sorted(literals))
        return _column_test(_SETS[type(expression)], column, ordered)
    if not isinstance(expression, ice.LiteralPredicate):
        raise InternalError(f"filter {expression}: {type(expression).__name__} is not a comparison")
    op = _COMPARISONS[type(expression)]
    if op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH) and column.type != "string":
        raise InvalidInputError(
            f"filter on column {column.name!r} of type {column.type}: 'like' needs a string column"
        )
    return _column_test(op, column, _literal(expression.literal.value, column))


def _column_test(op: Op, column: Column, literal: Value | tuple[Value, ...]) -> ColumnTest:
    return ColumnTest(op=op, field_id=column.field_id, column=column.name, literal=literal)


def _literal(value: Any, column: Column) -> Value:
    try:
        return internal_literal(nearest_float(value, column.type), column.type)
    except InvalidInputError as error:
        raise InvalidInputError(f"filter on column {column.name!r}: {error.message}") from error


def _column(name: str, table: KeyedTable) -> Column:
    by_name = {column.name: column for column in table.columns}
    if name in by_name:
        return by_name[name]
    if name.split(".")[0] in by_name:
        raise UnsupportedError(
            f"filter on {name!r}: nested columns cannot be tested; filter on a top-level column"
        )
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in by_name], n=1)
    known = [each for each in by_name if each.lower() in near]
    hint = f"did you mean {known[0]!r}?" if known else f"it has {', '.join(by_name)}"
    raise InvalidInputError(f"table {table.name!r} has no column {name!r}; {hint}")
