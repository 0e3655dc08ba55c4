"""Row filters: a small tree of column tests, the same for files, row groups and rows.

Rules:
    - There is no NOT node: a negation is pushed into the tests when a filter is built, so that
      the bounds of a file and the values of a row are judged by the same form.
    - A null matches no comparison, and NaN matches none either.
    - ``may_match`` may keep a file that holds no matching row, never drop one that does.

Must not know: who wrote the filter (Spark, a string, PyIceberg), or Arrow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from arctic.errors import InvalidInputError
from arctic.table.files import ColumnBounds, Value
from arctic.table.table_description import Column


class Op(Enum):
    """How a column is compared with the literal; the value is how ``explain`` prints it."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "not in"
    IS_NULL = "is null"
    NOT_NULL = "is not null"
    STARTS_WITH = "starts with"
    NOT_STARTS_WITH = "not starts with"
    LIKE = "like"
    NOT_LIKE = "not like"


_LIKE_PREFIX = re.compile(r"(?:[^%_\\]|\\.)*", re.DOTALL)
_NULL_TESTS = frozenset({Op.IS_NULL, Op.NOT_NULL})
_SETS = frozenset({Op.IN, Op.NOT_IN})
_NEGATIONS = frozenset({Op.NE, Op.NOT_IN, Op.NOT_STARTS_WITH, Op.NOT_LIKE})
_OPPOSITES = {
    Op.EQ: Op.NE,
    Op.LT: Op.GE,
    Op.LE: Op.GT,
    Op.IN: Op.NOT_IN,
    Op.IS_NULL: Op.NOT_NULL,
    Op.STARTS_WITH: Op.NOT_STARTS_WITH,
    Op.LIKE: Op.NOT_LIKE,
}
OPPOSITES = _OPPOSITES | {opposite: op for op, opposite in _OPPOSITES.items()}
"""The test that is true where another is false; neither is true where a comparison meets null."""
TURNED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
"""The comparison that says the same with its sides swapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTest:
    """One comparison of one top-level column."""

    op: Op
    field_id: int
    column: str
    literal: Value | tuple[Value, ...] = None
    """Internal form; a tuple of non-null values for IN and NOT_IN; None for the null tests; for
    LIKE a pattern with ``%`` and ``_``, and a backslash before each of these that is meant."""

    @classmethod
    def of(cls, op: Op, column: Column, literal: Value | tuple[Value, ...] = None) -> ColumnTest:
        """Return the test of a column of a table."""
        return cls(op=op, field_id=column.field_id, column=column.name, literal=literal)

    def __post_init__(self) -> None:
        """Refuse a literal of the wrong shape: a comparison with null is true of no row."""
        if self.op in _NULL_TESTS:
            is_right = self.literal is None
        elif self.op in _SETS:
            is_right = isinstance(self.literal, tuple) and None not in self.literal
        else:
            is_right = self.literal is not None and not isinstance(self.literal, tuple)
        if not is_right:
            raise InvalidInputError(
                f"test of column {self.column!r} by {self.op.value!r}: literal {self.literal!r}; "
                "expected none for a null test, a tuple of non-null values for a set, else a value"
            )

    def __str__(self) -> str:
        """Return the text that ``explain`` prints."""
        if self.op in _NULL_TESTS:
            return f"{self.column} {self.op.value}"
        if self.op in _SETS:
            listed = ", ".join(repr(value) for value in cast(tuple[Value, ...], self.literal))
            return f"{self.column} {self.op.value} ({listed})"
        return f"{self.column} {self.op.value} {self.literal!r}"


@dataclass(frozen=True, slots=True)
class And:
    """Every child holds; no child at all is true."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        """Return the text that ``explain`` prints."""
        return " and ".join(_nested(child) for child in self.children) or "true"


@dataclass(frozen=True, slots=True)
class Or:
    """Some child holds; no child at all is false."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        """Return the text that ``explain`` prints."""
        return " or ".join(_nested(child) for child in self.children) or "false"


Predicate = ColumnTest | And | Or


def conjunction(predicates: tuple[Predicate, ...]) -> Predicate | None:
    """Join filters that must all hold; None when there is nothing to test."""
    if not predicates:
        return None
    return predicates[0] if len(predicates) == 1 else And(predicates)


def part_on(predicate: Predicate | None, field_ids: Collection[int]) -> Predicate | None:
    """Return the part of a filter that tests some columns only: it holds wherever the filter does.

    Args:
        predicate: the filter.
        field_ids: the columns.

    Returns:
        None when no part of it does.
    """
    parts = predicate.children if isinstance(predicate, And) else (predicate,)
    return conjunction(
        tuple(
            part
            for part in parts
            if part is not None and all(test.field_id in field_ids for test in tests_of(part))
        )
    )


def tests_of(predicate: Predicate | None) -> Iterator[ColumnTest]:
    """Yield every column test of a filter, left to right."""
    if isinstance(predicate, ColumnTest):
        yield predicate
    elif predicate is not None:
        for child in predicate.children:
            yield from tests_of(child)


def may_match(
    predicate: Predicate | None, bounds: Mapping[int, ColumnBounds], record_count: int
) -> bool:
    """Say whether some row of a file or row group can match.

    Args:
        predicate: the filter; None matches everything.
        bounds: what is known by field id; a column that is absent is not known.
        record_count: rows in the file or row group.
    """
    if predicate is None:
        return True
    if isinstance(predicate, And):
        return all(may_match(child, bounds, record_count) for child in predicate.children)
    if isinstance(predicate, Or):
        return any(may_match(child, bounds, record_count) for child in predicate.children)
    known = bounds.get(predicate.field_id)
    return known is None or _test_may_match(predicate, known, record_count)


def _test_may_match(test: ColumnTest, known: ColumnBounds, record_count: int) -> bool:
    if test.op is Op.IS_NULL:
        return known.null_count != 0
    if known.null_count == record_count:
        return False
    if test.op is Op.NOT_NULL or test.op in _NEGATIONS:
        return True
    lower, upper = _trusted(known.lower), _trusted(known.upper)
    if test.op is Op.IN:
        return any(
            _within(literal, lower, upper) for literal in cast(tuple[Value, ...], test.literal)
        )
    literal = cast(Any, test.literal)
    if test.op is Op.EQ:
        return _within(literal, lower, upper)
    if test.op is Op.LT:
        return lower is None or bool(lower < literal)
    if test.op is Op.LE:
        return lower is None or bool(lower <= literal)
    if test.op is Op.GT:
        return upper is None or bool(upper > literal)
    if test.op is Op.GE:
        return upper is None or bool(upper >= literal)
    prefix = like_prefix(literal) if test.op is Op.LIKE else literal
    return (lower is None or lower[: len(prefix)] <= prefix) and (
        upper is None or upper[: len(prefix)] >= prefix
    )


def like_prefix(pattern: str) -> str:
    r"""Return what every text begins with that is like a pattern.

    >>> like_prefix(r"a\_b%c")
    'a_b'
    """
    kept = _LIKE_PREFIX.match(pattern)
    return re.sub(r"\\(.)", r"\1", kept.group(), flags=re.DOTALL) if kept else ""


def _trusted(bound: Any) -> Any:
    # Some writers take NaN for the least or greatest value, which then says nothing.
    return None if bound != bound else bound


def _within(literal: Any, lower: Any, upper: Any) -> bool:
    return (lower is None or lower <= literal) and (upper is None or literal <= upper)


def _nested(child: Predicate) -> str:
    return f"({child})" if isinstance(child, And | Or) else str(child)
