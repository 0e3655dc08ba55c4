"""The rows that a filter leaves over, as a filter: what proves that a file holds none of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from arctic.table.files import Value
from arctic.table.filters.predicate import OPPOSITES, And, ColumnTest, Op, Or, Predicate

_BOUNDED = {Op.LT, Op.LE, Op.GT, Op.GE}


def complement(predicate: Predicate, *, unordered: Collection[int] = ()) -> Predicate | None:
    """Return a filter that every row matches for which another is not true.

    Meant for bounds: it may match more rows than that.

    Args:
        predicate: the filter.
        unordered: field ids of columns that can hold NaN, of which no bounds tell.

    Returns:
        None where no such filter is known.

    >>> n = ColumnTest(op=Op.EQ, field_id=1, column="n", literal=5)
    >>> str(complement(And((n,))))
    'n < 5 or n > 5 or n is null'
    """
    if isinstance(predicate, ColumnTest):
        return _opposite(predicate, unordered)
    parts = [complement(child, unordered=unordered) for child in predicate.children]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    joined = Or(known) if isinstance(predicate, And) else And(known)
    return joined.children[0] if len(known) == 1 else joined


def _opposite(test: ColumnTest, unordered: Collection[int]) -> Predicate | None:
    if test.op is Op.IS_NULL or test.op is Op.NOT_NULL:
        return ColumnTest(op=OPPOSITES[test.op], field_id=test.field_id, column=test.column)
    if test.field_id in unordered:
        return None
    null = ColumnTest(op=Op.IS_NULL, field_id=test.field_id, column=test.column)
    if test.op is Op.EQ:
        return Or((*_beside(test, cast(Value, test.literal)), null))
    if test.op is Op.IN:
        literals = cast(tuple[Value, ...], test.literal)
        return Or((And(tuple(Or(_beside(test, literal)) for literal in literals)), null))
    if test.op in _BOUNDED or test.op is Op.NE or test.op is Op.NOT_IN:
        return Or((_with(test, OPPOSITES[test.op], test.literal), null))
    return None


def _beside(test: ColumnTest, literal: Value) -> tuple[ColumnTest, ColumnTest]:
    return _with(test, Op.LT, literal), _with(test, Op.GT, literal)


def _with(test: ColumnTest, op: Op, literal: Value | tuple[Value, ...]) -> ColumnTest:
    return ColumnTest(op=op, field_id=test.field_id, column=test.column, literal=literal)
