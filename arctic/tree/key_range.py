"""The keys that a file can hold, as a box: one range for each key column.

Rules:
    - A range may be too wide, never too narrow, so ``overlaps`` may say yes where no key is
      shared, but never no where one is.
    - A null equals a null, and NaN equals NaN: that is how keys compare. Bounds say nothing of
      NaN, so a floating-point column never tells two files apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, compress, repeat
from operator import le
from typing import Any, NamedTuple, Protocol


class Bounds(Protocol):
    """What is known of one column in one file or row group."""

    @property
    def lower(self) -> Any:
        """At most the least value; None if unknown."""

    @property
    def upper(self) -> Any:
        """At least the greatest value; None if unknown."""

    @property
    def null_count(self) -> int | None:
        """Rows that are null; None if unknown."""


class ColumnRange(NamedTuple):
    """The values that one key column can have."""

    lower: Any
    """None: unknown."""
    upper: Any
    """None: unknown."""
    may_be_null: bool


_ANYTHING = ColumnRange(None, None, True)


class KeyRange(NamedTuple):
    """A box that holds every key of a file or row group."""

    columns: tuple[ColumnRange, ...]
    """In key order."""

    @classmethod
    def of(cls, bounds: Mapping[int, Bounds], key_ids: Sequence[int]) -> KeyRange:
        """Return the range that bounds by field id tell; any value for a column without bounds."""
        return cls(tuple([_column_range(bounds.get(key_id)) for key_id in key_ids]))

    def overlaps(self, other: KeyRange) -> bool:
        """Say whether some key may lie in both; true for keys without columns.

        >>> low, high = ColumnRange(1, 5, False), ColumnRange(6, 9, False)
        >>> KeyRange((low,)).overlaps(KeyRange((high,)))
        False
        """
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            if mine.may_be_null and theirs.may_be_null:
                continue
            if mine.upper is not None and theirs.lower is not None and mine.upper < theirs.lower:
                return False
            if theirs.upper is not None and mine.lower is not None and theirs.upper < mine.lower:
                return False
        return True

    @classmethod
    def hull(cls, ranges: Sequence[KeyRange]) -> KeyRange:
        """Return the least range around all of them: what misses it misses each of them.

        Args:
            ranges: at least one.
        """
        if len(ranges) == 1:
            return ranges[0]
        return cls(tuple(map(_hull, zip(*[keys.columns for keys in ranges], strict=True))))

    @classmethod
    def core(cls, ranges: Sequence[KeyRange]) -> KeyRange:
        """Return a probe for ``overlaps``: a range that overlaps it overlaps each of these.

        Its lower bounds may be above its upper bounds, so it holds no keys itself.

        Args:
            ranges: at least one.
        """
        return cls(tuple(map(_core, zip(*[keys.columns for keys in ranges], strict=True))))


class KeyRangeIndex:
    """Finds which of many ranges a given one overlaps, without trying them all.

    Strategy: the ranges whose first column is known are sorted by its lower bound, each with the
    greatest upper bound up to there. Only those between the first that lets some range reach far
    enough, and the last that begins early enough, are looked at. The others are tried one by one.
    """

    __slots__ = ("_loose", "_lowers", "_ranges", "_reach", "_sorted", "_uppers")

    def __init__(self, ranges: Sequence[KeyRange]) -> None:
        self._ranges = tuple(ranges)
        tight: dict[int, ColumnRange] = {}
        self._loose: list[int] = []
        for place, keys in enumerate(self._ranges):
            if _is_tight(keys):
                tight[place] = keys.columns[0]
            else:
                self._loose.append(place)
        self._sorted = sorted(tight, key=lambda place: tight[place].lower)
        self._lowers = [tight[place].lower for place in self._sorted]
        self._uppers = [tight[place].upper for place in self._sorted]
        self._reach = list(accumulate(self._uppers, max))

    def overlapping(self, probe: KeyRange) -> Iterator[int]:
        """Yield the places of the ranges that overlap the probe, each once, in no known order."""
        for place in self._loose:
            if probe.overlaps(self._ranges[place]):
                yield place
        if not self._sorted:
            return
        lower = probe.columns[0].lower
        start, stop = self._span(probe.columns[0])
        for position in range(stop - 1, start - 1, -1):
            if lower is None or self._uppers[position] >= lower:
                place = self._sorted[position]
                if len(probe.columns) == 1 or probe.overlaps(self._ranges[place]):
                    yield place

    def all_overlapping(self, probe: KeyRange) -> list[int]:
        """Return all that ``overlapping`` yields, in less time than taking them one by one."""
        found = [place for place in self._loose if probe.overlaps(self._ranges[place])]
        if not self._sorted:
            return found
        lower = probe.columns[0].lower
        start, stop = self._span(probe.columns[0])
        near = self._sorted[start:stop]
        if lower is not None:
            near = list(compress(near, map(le, repeat(lower), self._uppers[start:stop])))
        if len(probe.columns) > 1:
            near = [place for place in near if probe.overlaps(self._ranges[place])]
        return found + near

    def _span(self, first: ColumnRange) -> tuple[int, int]:
        """Return where the sorted ranges that can overlap in the first column start and stop."""
        start = 0 if first.lower is None else bisect_left(self._reach, first.lower)
        stop = len(self._sorted)
        return start, stop if first.upper is None else bisect_right(self._lowers, first.upper)


def _column_range(known: Bounds | None) -> ColumnRange:
    if known is None or isinstance(known.lower, float) or isinstance(known.upper, float):
        return _ANYTHING
    return ColumnRange(known.lower, known.upper, known.null_count != 0)


def _hull(columns: Sequence[ColumnRange]) -> ColumnRange:
    lowers, uppers, nulls = zip(*columns, strict=True)
    return ColumnRange(
        None if None in lowers else min(lowers), None if None in uppers else max(uppers), any(nulls)
    )


def _core(columns: Sequence[ColumnRange]) -> ColumnRange:
    lowers, uppers, nulls = zip(*columns, strict=True)
    return ColumnRange(
        max([lower for lower in lowers if lower is not None], default=None),
        min([upper for upper in uppers if upper is not None], default=None),
        all(nulls),
    )


def _is_tight(keys: KeyRange) -> bool:
    if not keys.columns:
        return False
    first = keys.columns[0]
    return first.lower is not None and first.upper is not None and not first.may_be_null
