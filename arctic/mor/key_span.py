"""Which ranges of one key column hold a value of a set: to leave row groups out of a merge.

Strategy: every value becomes a 64-bit number that keeps the order; a range is looked up among the
sorted numbers. Integers, dates and times are such numbers. Of strings and binary it is the eight
bytes behind what all values of the set begin with.

Rules:
    - ``meets`` may say yes for a range without a value, never no for one with a value.
    - Bounds that were cut are bounds still: a lower one at most the least value, an upper one at
      least the greatest.

Memory: eight bytes for each value, from the first question on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.mor.widen import storage_type
from arctic.table.files import ColumnBounds

_WORD_BYTES = 8


class KeySpan:
    """The values of one key column."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._has_nulls = column.null_count > 0
        self._column: pa.ChunkedArray | None = column.drop_null() if self._has_nulls else column
        self._numbers: npt.NDArray[Any] | None = None
        self._texts: _Texts | None = None

    def meets(self, bounds: ColumnBounds | None) -> bool:
        """Say whether a value may lie between the bounds, both inclusive, or be null as well.

        Args:
            bounds: in Iceberg's internal form, text as bytes; None where nothing is known.
        """
        if bounds is None or bounds.lower is None or bounds.upper is None:
            return True
        if self._has_nulls and bounds.null_count != 0:
            return True
        numbers = self._sorted()
        if not len(numbers):
            return False
        lower, upper = self._number(bounds.lower), self._number(bounds.upper)
        # Python compares whole numbers exactly, whatever their width: numpy would turn those
        # beyond 64 bits into floats.
        if upper < int(numbers[0]) or lower > int(numbers[-1]):
            return False
        if lower <= int(numbers[0]) or upper >= int(numbers[-1]):
            return True
        kind = numbers.dtype.type
        return int(np.searchsorted(numbers, kind(lower))) < int(
            np.searchsorted(numbers, kind(upper), side="right")
        )

    def _sorted(self) -> npt.NDArray[Any]:
        if self._numbers is None:
            column, self._column = self._column, None
            values = column.combine_chunks() if column is not None else pa.nulls(0)
            if isinstance(values, pa.ChunkedArray):
                values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0)
            if not len(values):
                self._numbers = np.empty(0, np.int64)
            elif is_text_or_bytes(values.type):
                self._texts = _Texts(values)
                self._numbers = np.sort(self._texts.numbers)
            else:
                self._numbers = np.sort(_integers(values))
        return self._numbers

    def _number(self, bound: Any) -> int:
        return int(bound) if self._texts is None else self._texts.number(bound)


class _Texts:
    """Strings or binary values as numbers in their order."""

    def __init__(self, values: pa.Array) -> None:
        plain = pa.binary() if pat.is_string(values.type) else values.type
        values = values.view(plain) if values.type != plain else values
        ends = pc.min_max(values)
        self._least, self._greatest = ends["min"].as_py(), ends["max"].as_py()
        self._shared = _shared_start(self._least, self._greatest)
        self.numbers = _words(values, len(self._shared))

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
    stored = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][: len(values) + 1]
    first, end = stored[:-1].astype(np.int64) + skipped, stored[1:].astype(np.int64)
    held = values.buffers()[2]
    data = np.zeros(int(end.max()) + skipped + _WORD_BYTES, np.uint8)
    if held is not None:
        data[: int(end.max())] = np.frombuffer(held, np.uint8)[: int(end.max())]
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
