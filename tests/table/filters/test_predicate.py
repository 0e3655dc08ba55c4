from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import InvalidInputError
from arctic.table.files import ColumnBounds
from arctic.table.filters.predicate import (
    And,
    ColumnTest,
    Op,
    Or,
    Predicate,
    conjunction,
    may_match,
)
from arctic.table.filters.predicate import tests_of as column_tests_of
from tests.table.like import is_like

INT, TEXT, DOUBLE = 1, 2, 3
COLUMNS = {INT: "n", TEXT: "s", DOUBLE: "x"}
VALUES: dict[int, st.SearchStrategy[Any]] = {
    INT: st.integers(-3, 3),
    TEXT: st.text("ab", max_size=3),
    DOUBLE: st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0, math.inf, math.nan]),
}
Row = dict[int, Any]


def matches(predicate: Predicate, row: Row) -> bool:
    """Say whether a row passes a filter, by the rules in plain words."""
    if isinstance(predicate, And):
        return all(matches(child, row) for child in predicate.children)
    if isinstance(predicate, Or):
        return any(matches(child, row) for child in predicate.children)
    value, literal = row[predicate.field_id], predicate.literal
    if predicate.op is Op.IS_NULL:
        return value is None
    if predicate.op is Op.NOT_NULL:
        return value is not None
    if value is None or value != value:
        return False
    return bool(_COMPARISONS[predicate.op](value, literal))


_COMPARISONS: dict[Op, Any] = {
    Op.EQ: lambda value, literal: value == literal,
    Op.NE: lambda value, literal: value != literal,
    Op.LT: lambda value, literal: value < literal,
    Op.LE: lambda value, literal: value <= literal,
    Op.GT: lambda value, literal: value > literal,
    Op.GE: lambda value, literal: value >= literal,
    Op.IN: lambda value, literal: value in literal,
    Op.NOT_IN: lambda value, literal: value not in literal,
    Op.STARTS_WITH: lambda value, literal: value.startswith(literal),
    Op.NOT_STARTS_WITH: lambda value, literal: not value.startswith(literal),
    Op.LIKE: is_like,
    Op.NOT_LIKE: lambda value, literal: not is_like(value, literal),
}


@st.composite
def column_tests(draw: st.DrawFn) -> ColumnTest:
    """Draw a test of any column."""
    field_id = draw(st.sampled_from(list(COLUMNS)))
    patterns = (Op.LIKE, Op.NOT_LIKE)
    text_only = (Op.STARTS_WITH, Op.NOT_STARTS_WITH, *patterns)
    op = draw(st.sampled_from([op for op in Op if field_id == TEXT or op not in text_only]))
    literal: Any = None
    if op in (Op.IN, Op.NOT_IN):
        literal = tuple(draw(st.lists(VALUES[field_id], max_size=3)))
    elif op in patterns:
        literal = draw(st.text("ab%_", max_size=4))
    elif op not in (Op.IS_NULL, Op.NOT_NULL):
        literal = draw(VALUES[field_id])
    return ColumnTest(op=op, field_id=field_id, column=COLUMNS[field_id], literal=literal)


def predicates() -> st.SearchStrategy[Predicate]:
    """Draw a tree of tests."""
    tests: st.SearchStrategy[Predicate] = column_tests()
    return st.recursive(
        tests,
        lambda children: (
            st.lists(children, max_size=3)
            .map(tuple)
            .flatmap(lambda nested: st.sampled_from([And(nested), Or(nested)]))
        ),
        max_leaves=6,
    )


ROWS = st.fixed_dictionaries({key: st.none() | values for key, values in VALUES.items()})


@st.composite
def bounds_of(draw: st.DrawFn, rows: Sequence[Row]) -> dict[int, ColumnBounds]:
    """Draw bounds that are true of the rows: exact, wider, or silent."""
    bounds = {}
    for field_id in COLUMNS:
        column = [row[field_id] for row in rows]
        known: list[Any] = [value for value in column if value is not None and value == value]
        lower: Any = min(known, default=None)
        upper: Any = max(known, default=None)
        if draw(st.booleans()) and field_id == TEXT and known:
            lower, upper = lower[:1], upper[:1] + "\U0010ffff"
        if field_id == DOUBLE and draw(st.booleans()):
            lower, upper = draw(st.sampled_from([(math.nan, math.nan), (-math.inf, upper)]))
        bounds[field_id] = ColumnBounds(
            lower=draw(st.sampled_from([lower, None])),
            upper=draw(st.sampled_from([upper, None])),
            null_count=draw(st.sampled_from([column.count(None), None])),
        )
    kept = draw(st.sets(st.sampled_from(list(COLUMNS))))
    return {field_id: known for field_id, known in bounds.items() if field_id in kept}


@given(predicates(), st.lists(ROWS, max_size=5), st.data())
def test_a_file_with_a_matching_row_is_never_left_out(
    predicate: Predicate, rows: list[Row], data: st.DataObject
) -> None:
    """However little the bounds say, and whatever the filter asks."""
    bounds = data.draw(bounds_of(rows))

    assert may_match(predicate, bounds, len(rows)) or not any(matches(predicate, r) for r in rows)


def column_test(op: Op, literal: Any = None, field_id: int = INT) -> ColumnTest:
    """Return a test of a column."""
    return ColumnTest(op=op, field_id=field_id, column=COLUMNS[field_id], literal=literal)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (column_test(Op.EQ, 9), False),
        (column_test(Op.EQ, 10), True),
        (column_test(Op.EQ, 20), True),
        (column_test(Op.EQ, 21), False),
        (column_test(Op.LT, 10), False),
        (column_test(Op.LE, 10), True),
        (column_test(Op.GT, 20), False),
        (column_test(Op.GE, 20), True),
        (column_test(Op.IN, (1, 21)), False),
        (column_test(Op.IN, (1, 12)), True),
        (column_test(Op.IN, ()), False),
        (column_test(Op.NE, 15), True),
        (column_test(Op.NOT_IN, (15,)), True),
        (column_test(Op.IS_NULL), False),
        (column_test(Op.NOT_NULL), True),
        (column_test(Op.STARTS_WITH, "al", TEXT), False),
        (column_test(Op.STARTS_WITH, "am", TEXT), True),
        (column_test(Op.STARTS_WITH, "b", TEXT), True),
        (column_test(Op.STARTS_WITH, "d", TEXT), False),
        (column_test(Op.NOT_STARTS_WITH, "b", TEXT), True),
        (column_test(Op.EQ, 1.0, DOUBLE), False),
        (column_test(Op.IS_NULL, None, DOUBLE), True),
    ],
    ids=str,
)
def test_bounds_leave_files_out(test: ColumnTest, expected: bool) -> None:
    """Each test, at and beside the bounds: n in 10..20, s in 'amy'..'c', x all null."""
    bounds = {
        INT: ColumnBounds(lower=10, upper=20, null_count=0),
        TEXT: ColumnBounds(lower="amy", upper="c", null_count=0),
        DOUBLE: ColumnBounds(lower=None, upper=None, null_count=5),
    }

    assert expected == may_match(test, bounds, 5)


def test_bounds_of_nan_say_nothing() -> None:
    """Some writers let NaN into the bounds of a column that holds numbers too."""
    bounds = {DOUBLE: ColumnBounds(lower=math.nan, upper=math.nan, null_count=0)}
    asked = (Op.EQ, Op.LT, Op.LE, Op.GT, Op.GE)

    assert all(may_match(column_test(op, 5.0, DOUBLE), bounds, 1) for op in asked)
    assert may_match(column_test(Op.IN, (5.0,), DOUBLE), bounds, 1)


def test_a_filter_is_printed_as_it_is_meant() -> None:
    """Children are bracketed, so that the text has one reading."""
    small, null = column_test(Op.LT, 5), column_test(Op.IS_NULL, None, TEXT)
    one_of = ColumnTest(op=Op.IN, field_id=4, column="d", literal=(Decimal("1.50"),))
    predicate = And((Or((small, null)), one_of))

    assert str(predicate) == "(n < 5 or s is null) and d in (Decimal('1.50'))"
    assert (str(And(())), str(Or(()))) == ("true", "false")
    assert [small, null, one_of] == list(column_tests_of(predicate))


def test_a_conjunction_of_nothing_is_no_filter() -> None:
    """One filter stays itself, several are joined."""
    test = column_test(Op.LT, 5)

    assert conjunction(()) is None
    assert test == conjunction((test,))
    assert And((test, test)) == conjunction((test, test))
    assert list(column_tests_of(None)) == []
    assert may_match(None, {}, 1)


@pytest.mark.parametrize(
    ("op", "literal"),
    [
        (Op.EQ, None),
        (Op.EQ, (1,)),
        (Op.IN, 1),
        (Op.IN, None),
        (Op.NOT_IN, (1, None)),
        (Op.IS_NULL, 1),
        (Op.STARTS_WITH, None),
    ],
)
def test_a_literal_of_the_wrong_shape_cannot_be_built(op: Op, literal: Any) -> None:
    """A comparison with null is true of no row: whoever builds the filter must say so."""
    with pytest.raises(InvalidInputError, match="expected none for a null test"):
        column_test(op, literal)
