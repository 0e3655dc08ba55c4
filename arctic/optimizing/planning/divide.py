"""Dividing the work of a heavy node by ranges of one column, of the sort columns or the key.

Rules:
    - The ranges cover every value once, nulls in the last one, so each row belongs to exactly one.
    - Cuts lie where a base file begins, and only where most of what began before has ended: then
      what falls to a part is known, and most files are read once. Files that overlap all over stay
      together, however many they are: each part would read all of them, and might find two rows.
    - No part is much smaller than the others.
    - Files without bounds are not divided, nor are those of a float column: bounds leave NaN out.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.table.filters.predicate import ColumnTest, Op, Or, Predicate, conjunction
from arctic.table.table_description import Column
from arctic.tree.key_range import ColumnRange


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePart:
    """A range of the column, and the files that can hold rows in it."""

    row_range: Predicate | None
    """None: the only part."""
    files: tuple[FileTask, ...]
    bytes: int
    """Of the files, by the share that falls to this part."""


def divide_by_range(
    files: Sequence[FileTask], *, column: Column, max_bytes: int
) -> tuple[RangePart, ...]:
    """Divide files into parts of at most about ``max_bytes``.

    Args:
        files: data files of one subtree, at least one.
        column: whose ranges the parts are; the files know its bounds.
        max_bytes: of one part; files that begin at the same value stay together.

    Returns:
        Parts in the order of the column; one when nothing can or need be divided.
    """
    ranges = FileRanges((column.field_id,))
    bounds = [ranges.of(task.file).columns[0] for task in files]
    sizes = [task.file.size_bytes for task in files]
    cuts = _cuts(files, bounds, max_bytes=max_bytes)
    if not cuts:
        return (RangePart(row_range=None, files=tuple(files), bytes=sum(sizes)),)
    edges = list(zip([None, *cuts], [*cuts, None], strict=True))
    held = [[_touches(bound, low, high) for low, high in edges] for bound in bounds]
    shares = [
        [
            is_held and _falls_into(bound, low)
            for is_held, (low, _) in zip(places, edges, strict=True)
        ]
        for places, bound in zip(held, bounds, strict=True)
    ]
    with_nulls = any(bound.may_be_null for bound in bounds)
    return tuple(
        RangePart(
            row_range=_row_range(column, low, high, with_nulls=with_nulls),
            files=tuple(task for task, places in zip(files, held, strict=True) if places[number]),
            bytes=sum(
                size // sum(places)
                for size, places in zip(sizes, shares, strict=True)
                if places[number]
            ),
        )
        for number, (low, high) in enumerate(edges)
        if any(places[number] for places in held)
    )


def _cuts(files: Sequence[FileTask], bounds: Sequence[ColumnRange], *, max_bytes: int) -> list[Any]:
    total = sum(task.file.size_bytes for task in files)
    if total <= max_bytes:
        return []
    begins: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    for task, bound in zip(files, bounds, strict=True):
        if task.file.kind is FileKind.BASE and bound.lower is not None:
            begins[bound.lower].append((bound.upper, task.file.size_bytes))
    base_bytes = sum(size for group in begins.values() for _, size in group)
    # Inserts are spread over all parts, so a part has room for its share of base only.
    room = max(1, max_bytes * base_bytes // total)
    cuts: list[Any] = []
    part = _Part()
    for lower in sorted(begins):
        group_bytes = sum(size for _, size in begins[lower])
        if part.bytes + group_bytes > room and part.is_settled_at(lower):
            cuts.append(lower)
            part = _Part()
        for upper, size in begins[lower]:
            part.add(upper, size)
    if cuts and 2 * part.bytes < room:
        cuts.pop()
    # A cut at the least value of all would leave the part before it without a row.
    least = min((bound.lower for bound in bounds if bound.lower is not None), default=None)
    return [cut for cut in cuts if cut > least]


class _Part:
    """The base files that begin in a range that has no end yet."""

    def __init__(self) -> None:
        self.bytes = 0
        self._ended_bytes = 0
        self._ends: list[tuple[Any, int]] = []

    def add(self, upper: Any, size: int) -> None:
        self.bytes += size
        if upper is not None:
            heapq.heappush(self._ends, (upper, size))

    def is_settled_at(self, value: Any) -> bool:
        """Say whether at least half of its bytes end before a value; values only rise."""
        # A value that fills more than one file is the last of one and the first of the next.
        while self._ends and self._ends[0][0] <= value:
            self._ended_bytes += heapq.heappop(self._ends)[1]
        return 0 < self.bytes <= 2 * self._ended_bytes


def _touches(bound: ColumnRange, low: Any, high: Any) -> bool:
    if bound.lower is None:
        return True
    if high is None and bound.may_be_null:
        return True
    above = low is None or bound.upper is None or bound.upper >= low
    return bool(above and (high is None or bound.lower < high))


def _falls_into(bound: ColumnRange, low: Any) -> bool:
    """Say whether a part that a file touches gets more of it than its last value, or its nulls."""
    if low is None or bound.upper is None:
        return True
    return bool(bound.upper > low or bound.lower == low)


def _row_range(column: Column, low: Any, high: Any, *, with_nulls: bool) -> Predicate | None:
    tests: list[Predicate] = []
    if low is not None:
        tests.append(ColumnTest.of(Op.GE, column, low))
    if high is not None:
        tests.append(ColumnTest.of(Op.LT, column, high))
    elif with_nulls:
        return Or((*tests, ColumnTest.of(Op.IS_NULL, column)))
    return conjunction(tuple(tests))
