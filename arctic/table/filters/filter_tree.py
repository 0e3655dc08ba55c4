"""Filters as they are written, with NOT anywhere, made into the few forms of ``Predicate``.

Rules:
    - Nothing here recurses: a chain of a hundred thousand ORs is a filter like any other.
    - Joins of one kind are one join, and comparisons of one column for equality are one set. What
      is then still nested beyond ``MAX_DEPTH`` is refused, because whoever takes a predicate apart
      later goes down level by level.

Must not know: texts, foreign expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from arctic.errors import UnsupportedError
from arctic.table.filters.predicate import OPPOSITES, And, ColumnTest, Op, Or, Predicate

MAX_DEPTH = 60
"""Alternations of AND and OR, one inside the other."""


@dataclass(frozen=True, slots=True)
class Join:
    """All of the children, or some of them."""

    is_and: bool
    children: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """What is false of the child; neither is true of what is unknown."""

    child: Filter


@dataclass(frozen=True, slots=True)
class Certain:
    """A comparison that is false of null where the test is unknown, as SQL's ``<=>`` is."""

    test: ColumnTest


Filter = Join | Negation | Certain | ColumnTest


@dataclass(slots=True)
class _Level:
    is_and: bool
    waiting: list[tuple[Filter | Predicate, bool]]
    """With whether the opposite is meant; the last is next."""
    done: list[Predicate]


def predicate_of(row_filter: Filter | Predicate) -> Predicate:
    """Return a filter without NOT, flat.

    Raises:
        UnsupportedError: it is nested deeper than ``MAX_DEPTH``.

    >>> n = ColumnTest(op=Op.LT, field_id=1, column="n", literal=5)
    >>> str(predicate_of(Negation(Join(True, (n, Join(True, (Negation(n),)))))))
    'n >= 5 or n < 5'
    >>> str(predicate_of(Negation(Certain(n))))
    'n >= 5 or n is null'
    """
    levels = [_Level(is_and=True, waiting=[(row_filter, False)], done=[])]
    while True:
        level = levels[-1]
        if not level.waiting:
            joined = _joined(level.is_and, level.done)
            levels.pop()
            if not levels:
                return joined
            levels[-1].done.append(joined)
            continue
        part, is_negated = level.waiting.pop()
        while isinstance(part, Negation):
            part, is_negated = part.child, not is_negated
        if isinstance(part, Certain):
            part, is_negated = _of_null_too(part.test) if is_negated else part.test, False
        if isinstance(part, ColumnTest):
            level.done.append(replace(part, op=OPPOSITES[part.op]) if is_negated else part)
            continue
        children: list[tuple[Filter | Predicate, bool]] = [
            (child, is_negated) for child in reversed(part.children)
        ]
        is_and = (part.is_and if isinstance(part, Join) else isinstance(part, And)) != is_negated
        if is_and is level.is_and or len(children) == 1:
            level.waiting += children
        elif len(levels) > MAX_DEPTH:
            raise UnsupportedError(
                f"filter: AND and OR alternate more than {MAX_DEPTH} levels deep; write it flatter"
            )
        else:
            levels.append(_Level(is_and=is_and, waiting=children, done=[]))


def _of_null_too(test: ColumnTest) -> Join:
    null = ColumnTest(op=Op.IS_NULL, field_id=test.field_id, column=test.column)
    return Join(False, (replace(test, op=OPPOSITES[test.op]), null))


def _joined(is_and: bool, parts: Sequence[Predicate]) -> Predicate:
    kept = _with_sets(Op.NE if is_and else Op.EQ, parts)
    if len(kept) == 1:
        return kept[0]
    return And(tuple(kept)) if is_and else Or(tuple(kept))


def _with_sets(single: Op, parts: Sequence[Predicate]) -> list[Predicate]:
    """Make one set of what a column may equal, or of what it must differ from."""
    several = Op.IN if single is Op.EQ else Op.NOT_IN
    sets: dict[int, list[ColumnTest]] = {}
    kept: list[Predicate] = []
    for part in parts:
        if isinstance(part, ColumnTest) and part.op in (single, several):
            same_column = sets.setdefault(part.field_id, [])
            same_column.append(part)
            if len(same_column) > 1:
                continue
        kept.append(part)
    return [
        _union(several, sets[part.field_id])
        if isinstance(part, ColumnTest) and part.op in (single, several)
        else part
        for part in kept
    ]


def _union(several: Op, tests: Sequence[ColumnTest]) -> ColumnTest:
    if len(tests) == 1:
        return tests[0]
    literals: set[Any] = set()
    for test in tests:
        literals.update(test.literal if isinstance(test.literal, tuple) else (test.literal,))
    # Sets have no order; the same filter must make the same plan.
    return replace(tests[0], op=several, literal=tuple(sorted(literals)))
