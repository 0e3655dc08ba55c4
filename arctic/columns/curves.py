"""One number for several columns: rows that are near one another in all of them have near numbers.

Strategy: each value becomes a rank, by quantiles of values that were seen before, so that a column
that crowds around some value is divided there as finely as one that is even. The ranks are a place
in a cube, and the number says how far along a curve through all of it that is: one that goes on to
a place beside it each time (Hilbert's), or one whose numbers are the interleaved bits of the ranks,
the first column's highest first (Z-order), which jumps.

Rules:
    - Both curves go through a cube's eighths one after the other, and so on, so rows that are near
      in all columns are near in most places; by Hilbert's, parts of it span less of each column.
    - A rank never falls where a value rises: NaN above every number, nulls last, texts by bytes.
    - Equal values have equal ranks, so equal rows have equal numbers.
    - What was not seen is ranked all the same: below, between or above what was.

Memory: eight bytes for each row and column.

Must not know: files, deletes, which columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.buffers import value_bytes, value_offsets
from arctic.options.sort_terms import CurveKind

RANK_BITS = 12
"""4,096 ranks of a column: more than there are files and row groups to tell apart in a node."""

_Codes = npt.NDArray[np.uint64]
_Ranks = npt.NDArray[np.int64]
_NULL = np.uint64(2**64 - 1)
_WIDTH = 8
"""Bytes of a text that its code holds, after what all texts begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Ranks of one column."""

    prefix: bytes
    """What all texts began with that were seen; nothing for other types."""
    edges: _Codes
    """Ascending codes: a value's rank is how many of them are not above it."""

    @classmethod
    def of(cls, seen: pa.ChunkedArray) -> _Scale:
        prefix = _common_prefix(seen)
        codes = np.sort(_codes(seen, prefix))
        distinct, count = np.unique(codes), (1 << RANK_BITS) - 1
        if len(distinct) > count:
            places = np.linspace(0, len(codes) - 1, count).astype(np.int64)
            distinct = np.unique(codes[places])
        return cls(prefix=prefix, edges=distinct)

    def ranks(self, column: pa.ChunkedArray) -> _Ranks:
        found = np.searchsorted(self.edges, _codes(column, self.prefix), side="right")
        # As many bits for a column of few values, or the others would be told apart first.
        shift = RANK_BITS - max(1, len(self.edges).bit_length())
        ranks: _Ranks = found.astype(np.int64) << shift
        return ranks


@dataclass(frozen=True, slots=True)
class Curve:
    """What makes a number of the values of a row."""

    _scales: tuple[_Scale, ...]
    _kind: CurveKind

    @classmethod
    def of(cls, seen: Sequence[pa.ChunkedArray], *, kind: CurveKind) -> Curve:
        """Learn how values are spread.

        Args:
            seen: some values of each column, two to four; they may be none.
            kind: how ranks become a number.
        """
        return cls(tuple(_Scale.of(column) for column in seen), kind)

    def values(self, columns: Sequence[pa.ChunkedArray]) -> pa.Array:
        """Return the number of each row.

        Args:
            columns: of the types of those that were seen, equally long.

        Returns:
            int64, not null, at least 0.
        """
        ranks = [scale.ranks(column) for scale, column in zip(self._scales, columns, strict=True)]
        if self._kind is CurveKind.HILBERT:
            ranks = _turned(ranks)
        return pa.array(_interleaved(ranks))


def _interleaved(ranks: Sequence[_Ranks]) -> _Ranks:
    numbers = np.zeros(len(ranks[0]), dtype=np.int64)
    for bit in range(RANK_BITS - 1, -1, -1):
        for each in ranks:
            numbers = (numbers << 1) | ((each >> bit) & 1)
    return numbers


def _turned(ranks: Sequence[_Ranks]) -> list[_Ranks]:
    """Return what interleaved is how far along Hilbert's curve each place is.

    Source: J. Skilling, Programming the Hilbert curve, 2004. From the largest cube to the smallest,
    the part of it that a place is in says how what is below is turned and mirrored.
    """
    axes = [each.copy() for each in ranks]
    first, last = axes[0], axes[-1]
    for bit in range(RANK_BITS - 1, 0, -1):
        below = (1 << bit) - 1
        for axis in axes:
            is_far = -((axis >> bit) & 1)  # All bits, or none.
            swapped = (first ^ axis) & below & ~is_far
            first ^= (below & is_far) | swapped
            axis ^= swapped
    for before, axis in pairwise(axes):
        axis ^= before
    flips = np.zeros_like(last)
    for bit in range(RANK_BITS - 1, 0, -1):
        flips ^= ((1 << bit) - 1) & -((last >> bit) & 1)
    return [axis ^ flips for axis in axes]


def is_ranked(data_type: pa.DataType) -> bool:
    """Say whether values of a type have ranks."""
    return bool(
        pt.is_integer(data_type)
        or pt.is_floating(data_type)
        or pt.is_decimal(data_type)
        or pt.is_boolean(data_type)
        or pt.is_date32(data_type)
        or pt.is_time64(data_type)
        or pt.is_timestamp(data_type)
        or _is_text(data_type)
    )


def _is_text(data_type: pa.DataType) -> bool:
    return bool(
        pt.is_string(data_type)
        or pt.is_large_string(data_type)
        or pt.is_binary(data_type)
        or pt.is_large_binary(data_type)
        or pt.is_fixed_size_binary(data_type)
    )


def _codes(column: pa.ChunkedArray, prefix: bytes) -> _Codes:
    """Return numbers that compare as the values do, as far as 64 bits can tell them apart."""
    if _is_text(column.type):
        codes = _text_codes(_bytes(column), prefix)
    elif pt.is_floating(column.type) or pt.is_decimal(column.type):
        codes = _float_codes(pc.cast(column, pa.float64(), safe=False))
    else:
        codes = _int_codes(column)
    # The greatest value of all shares the rank of nulls: nothing comes between them anyway.
    codes[np.asarray(column.is_null().to_numpy())] = _NULL
    return codes


def _int_codes(column: pa.ChunkedArray) -> _Codes:
    if pt.is_boolean(column.type):
        column = pc.cast(column, pa.int64())
    elif pt.is_date32(column.type):
        column = pc.cast(column, pa.int32())
    numbers = pc.fill_null(pc.cast(column, pa.int64()), 0).to_numpy()
    codes: _Codes = numbers.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    return codes


def _float_codes(column: pa.ChunkedArray) -> _Codes:
    values = pc.fill_null(column, 0.0).to_numpy() + 0.0  # a negative zero is as good as zero
    values = np.where(np.isnan(values), np.nan, values)  # every NaN is one
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    negative = (bits >> np.uint64(63)).astype(bool)
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def _bytes(column: pa.ChunkedArray) -> pa.Array:
    column = pc.fill_null(pc.cast(column, pa.large_binary()), b"")
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _text_codes(values: pa.Array, prefix: bytes) -> _Codes:
    count = len(values)
    if not count:
        return np.zeros(0, dtype=np.uint64)
    offsets, data = value_offsets(values), value_bytes(values)
    starts, lengths = offsets[:-1], np.diff(offsets)
    codes = _big_endian(data, starts + len(prefix), lengths - len(prefix))
    if prefix:
        # Texts that begin otherwise were not seen: before all others, or after them.
        differs = np.zeros(count, dtype=bool)
        above = np.zeros(count, dtype=bool)
        for position, byte in enumerate(prefix):
            inside = lengths > position
            here = np.zeros(count, dtype=np.int64) - 1
            here[inside] = data[starts[inside] + position]
            above |= ~differs & (here > byte)
            differs |= here != byte
        codes[differs] = np.where(above[differs], _NULL, np.uint64(0))
    return codes


def _big_endian(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> _Codes:
    codes = np.zeros(len(starts), dtype=np.uint64)
    for position in range(_WIDTH):
        inside = np.flatnonzero(lengths > position)
        shift = np.uint64(8 * (_WIDTH - 1 - position))
        codes[inside] |= data[starts[inside] + position].astype(np.uint64) << shift
    return codes


def _common_prefix(column: pa.ChunkedArray) -> bytes:
    if not _is_text(column.type) or column.null_count == len(column):
        return b""
    ends = pc.min_max(pc.cast(column, pa.large_binary()))
    least, greatest = ends["min"].as_py(), ends["max"].as_py()
    pairs = enumerate(zip(least, greatest, strict=False))
    end = next((place for place, (one, other) in pairs if one != other), None)
    return bytes(least if end is None else least[:end])
