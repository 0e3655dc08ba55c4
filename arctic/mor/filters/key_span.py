"""Which ranges of key columns hold a value of a set: to leave row groups out of a merge.

Strategy: every value becomes a 64-bit number that keeps the order; a range is looked up among the
sorted numbers. Integers, dates and times are such numbers. Of strings and binary it is the eight
bytes behind what all values of the set begin with.

Rules:
    - ``meets`` may say yes for a range without a value, never no for one with a value.
    - Bounds that were cut are bounds still: a lower one at most the least value, an upper one at
      least the greatest.

Memory: eight bytes for each value; while they are sorted, twice that and one piece of the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.buffers import value_bytes, value_offsets
from arctic.columns.promotions import storage_type
from arctic.table.files import ColumnBounds

_WORD_BYTES = 8
_PIECE_ROWS = 65_536


class KeySpan:
    """The values of one key column."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._has_nulls = column.null_count > 0
        self._texts = _Texts(column) if is_text_or_bytes(column.type) else None
        turn = _integers if self._texts is None else self._texts.numbers
        pieces = [turn(piece) for piece in _pieces(column)]
        self._numbers: npt.NDArray[Any] = (
            np.concatenate(pieces) if pieces else np.empty(0, np.int64)
        )
        self._numbers.sort()

    def meets(self, bounds: ColumnBounds | None) -> bool:
        """Say whether a value may lie between the bounds, both inclusive, or be null as well.

        Args:
            bounds: in Iceberg's internal form, text as bytes; None where nothing is known.
        """
        if bounds is None or bounds.lower is None or bounds.upper is None:
            return True
        if self._has_nulls and bounds.null_count != 0:
            return True
        numbers = self._numbers
        if not len(numbers):
            return False
        lower, upper = self._number(bounds.lower), self._number(bounds.upper)
        least, greatest = int(numbers[0]), int(numbers[-1])
        # Python compares whole numbers exactly, whatever their width; between the ends they fit.
        if upper < least or lower > greatest:
            return False
        if lower <= least or upper >= greatest:
            return True
        kind = numbers.dtype.type
        first = np.searchsorted(numbers, kind(lower))
        return bool(first < np.searchsorted(numbers, kind(upper), side="right"))

    def _number(self, bound: Any) -> int:
        return int(bound) if self._texts is None else self._texts.number(bound)


class KeySpans:
    """The values of several columns."""

    def __init__(self, keys: pa.Table) -> None:
        self._spans = [
            KeySpan(column) if has_span(column.type) else None for column in keys.columns
        ]

    def meet(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether a row may lie within bounds, one for each column; None: nothing is known."""
        return all(
            span is None or span.meets(known)
            for span, known in zip(self._spans, bounds, strict=True)
        )


class _Texts:
    """Turns strings or binary values into numbers in their order."""

    def __init__(self, values: pa.ChunkedArray) -> None:
        ends = pc.min_max(values)
        self._least, self._greatest = (_bytes(ends[end].as_py()) for end in ("min", "max"))
        self._shared = _shared_start(self._least, self._greatest)

    def numbers(self, values: pa.Array) -> npt.NDArray[np.uint64]:
        """Return the numbers of some of the values."""
        return _words(values, len(self._shared))

    def number(self, bound: bytes) -> int:
        """Return the place of a bound among the numbers."""
        if bound < self._least:
            return -1
        if bound > self._greatest:
            return 1 << 64
        part = bound[len(self._shared) :][:_WORD_BYTES]
        return int.from_bytes(part.ljust(_WORD_BYTES, b"\0"), "big")


def has_span(kind: pa.DataType) -> bool:
    """Say whether values of a type can be told apart by bounds: floats and decimals cannot."""
    kind = storage_type(kind)
    if pat.is_timestamp(kind) or pat.is_time64(kind):
        return bool(kind.unit == "us")
    if pat.is_integer(kind):
        return bool(pat.is_signed_integer(kind))
    return bool(pat.is_date32(kind)) or is_text_or_bytes(kind)


def is_text_or_bytes(kind: pa.DataType) -> bool:
    """Say whether bounds of a type are compared as bytes."""
    return bool(pat.is_string(kind) or pat.is_binary(kind))


def _pieces(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield what is not null, some rows at a time."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), _PIECE_ROWS):
            piece = chunk.slice(start, _PIECE_ROWS).drop_null()
            if len(piece):
                yield piece


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _shared_start(least: bytes, greatest: bytes) -> bytes:
    for at, (low, high) in enumerate(zip(least, greatest, strict=False)):
        if low != high:
            return least[:at]
    return least


def _integers(values: pa.Array) -> npt.NDArray[np.int64]:
    if pat.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    numbers: npt.NDArray[np.int64] = values.cast(pa.int64()).to_numpy()
    return numbers


def _words(values: pa.Array, skipped: int) -> npt.NDArray[np.uint64]:
    """Return eight bytes of each value behind some that are skipped, zeros where it has ended."""
    stored = value_offsets(values)
    begin, size = int(stored[0]), int(stored[-1] - stored[0])
    ends = stored.astype(np.int64) - begin
    first, end = ends[:-1] + skipped, ends[1:]
    # A copy, so that the last value has a whole word too.
    data = np.zeros(size + _WORD_BYTES, np.uint8)
    data[:size] = value_bytes(values)[begin : begin + size]
    windows: npt.NDArray[np.uint64] = np.ndarray(
        (len(data) - _WORD_BYTES + 1,), ">u8", data.data, strides=(1,)
    )
    words = windows[first].astype(np.uint64)
    missing = np.clip(_WORD_BYTES - (end - first), 0, _WORD_BYTES).astype(np.uint64) * np.uint64(8)
    # Shifting by all 64 bits is undefined, so it is done in two steps.
    half = missing // np.uint64(2)
    rest = missing - half
    kept: npt.NDArray[np.uint64] = (words >> half >> rest) << half << rest
    return kept
