"""One key column: its values as codes, and exact lookups among them.

Strategy: Arrow's dictionaries hash every value. Of values that repeat that is fast, since few are
in the table; of hundreds of thousands that differ it misses every cache: to sort integers was
measured to take a third of the time, and leaves them in the order in which few others are looked up
best.

Rules:
    - Values are equal as Iceberg's keys are: NaN equals NaN, -0.0 differs from 0.0, null equals
      null, strings and binary by their bytes.
    - Whatever fits in 64 bits becomes an integer; the rest is compared as bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.buffers import fixed_values
from arctic.columns.integers.distinct import distinct
from arctic.columns.integers.integer_index import Hits, IntArray, integer_index, unordered_index
from arctic.columns.sieve_hash import sieve_hashes
from arctic.errors import InternalError

_NAN_BITS = {32: 0x7FC00000, 64: 0x7FF8000000000000}
_DIGITS_IN_64_BITS = 18
LEAST_SORTED_ROWS = 4_096
"""Fewer are hashed in no time."""
_SAMPLE_ROWS = 1_024


def canonical(array: pa.Array) -> pa.Array:
    """Return values that are equal, byte by byte, iff the keys are: int64, or some binary type.

    Args:
        array: a column of a type that can be a key, possibly with nulls, which stay.
    """
    kind = array.type
    if pat.is_integer(kind) or pat.is_boolean(kind):
        return array if pat.is_int64(kind) else array.cast(pa.int64())
    if pat.is_floating(kind):
        return _float_bits(array)
    if pat.is_temporal(kind):
        bits = pa.int32() if kind.bit_width == 32 else pa.int64()
        return array.view(bits).cast(pa.int64())
    if pat.is_decimal128(kind):
        narrow = kind.precision <= _DIGITS_IN_64_BITS
        return _low_words(array) if narrow else array.view(pa.binary(16))
    if _is_bytes(kind):
        return array
    raise InternalError(f"a column of type {kind} cannot be part of a key")


class ColumnCodes:
    """The rows of one key column as codes; a code is the position of a distinct value."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._type = column.type
        chunks = [canonical(chunk) for chunk in column.chunks]
        kind = chunks[0].type if chunks else canonical(pa.nulls(0, column.type)).type
        self.is_bytes = not pat.is_int64(kind)
        """Whether a lookup has to read bytes, which is slower."""
        coded = None
        if chunks and not (self.is_bytes or column.null_count):
            coded = sorted_codes(np.concatenate([chunk.to_numpy() for chunk in chunks]))
        self._is_ascending = coded is not None
        """Whether the distinct values are."""
        if coded is not None:
            self._values, codes = pa.array(coded[0]), coded[1]
            self._null_code = -1
        else:
            encoded = pc.dictionary_encode(pa.chunked_array(chunks, kind))
            self._values = encoded.chunk(0).dictionary if encoded.num_chunks else pa.nulls(0, kind)
            self._null_code = len(self._values) if column.null_count else -1
            codes = _concatenated(encoded, self._null_code)
        self.codes = codes
        """The code of each row."""
        self.cardinality = len(self._values) + (column.null_count > 0)
        """One more than the greatest code."""

    def index(self) -> ColumnIndex:
        """Return what finds the codes of other columns."""
        match: _BytesMatch | _IntegerMatch
        if self.is_bytes:
            match = _BytesMatch(self._values)
        else:
            match = _IntegerMatch(self._values, ascending=self._is_ascending)
        return ColumnIndex(self._type, match, self._null_code)


class ColumnIndex:
    """Finds values of other columns among the distinct values of one."""

    def __init__(
        self, kind: pa.DataType, match: _BytesMatch | _IntegerMatch, null_code: int
    ) -> None:
        self._type = kind
        self._match = match
        self._null_code = null_code

    def match(self, column: pa.Array) -> Hits:
        """Find rows whose value is known; return ascending row numbers and their codes."""
        if column.type != self._type:
            raise InternalError(f"key column of type {column.type} is looked up in {self._type}")
        values = canonical(column)
        if not values.null_count:
            return self._match(values)
        valid = np.flatnonzero(pc.is_valid(values).to_numpy(zero_copy_only=False))
        hits, codes = self._match(values.take(pa.array(valid)))
        rows = valid[hits]
        if self._null_code < 0:
            return rows, codes
        found = np.full(len(values), -1, np.int64)
        found[rows] = codes
        found[pc.is_null(values).to_numpy(zero_copy_only=False)] = self._null_code
        rows = np.flatnonzero(found >= 0)
        return rows, found[rows]


class _IntegerMatch:
    """Finds integers among distinct ones; neither has nulls."""

    def __init__(self, values: pa.Array, *, ascending: bool) -> None:
        self._index = integer_index(values.to_numpy(), ascending=ascending)

    def __call__(self, values: pa.Array) -> Hits:
        return self._index.match(values.to_numpy())


class _BytesMatch:
    """Finds strings or binary values among distinct ones; neither has nulls."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        hashes = sieve_hashes(values).view(np.int64)
        ordered = np.sort(hashes)
        self._is_ambiguous = bool((ordered[1:] == ordered[:-1]).any())
        self._index = unordered_index(hashes[:0] if self._is_ambiguous else hashes)

    def __call__(self, values: pa.Array) -> Hits:
        if self._is_ambiguous:
            # Two known values share a hash, so it cannot name one of them: let Arrow hash them
            # its own way, slower and without ambiguity.
            found = pc.index_in(values, value_set=self._values).fill_null(-1).to_numpy()
            rows = np.flatnonzero(found >= 0)
            return rows, found[rows].astype(np.int64)
        rows, codes = self._index.match(sieve_hashes(values).view(np.int64))
        same = pc.equal(values.take(pa.array(rows)), self._values.take(pa.array(codes)))
        equal = same.to_numpy(zero_copy_only=False)
        return (rows, codes) if equal.all() else (rows[equal], codes[equal])


def _is_bytes(kind: pa.DataType) -> bool:
    tests: tuple[Any, ...] = (pat.is_string, pat.is_binary, pat.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _float_bits(array: pa.Array) -> pa.Array:
    width = array.type.bit_width
    integer = pa.int32() if width == 32 else pa.int64()
    bits = array.view(integer)
    nan = pc.is_nan(array)
    if nan.true_count:
        bits = pc.if_else(nan, pa.scalar(_NAN_BITS[width], integer), bits)
    return bits.cast(pa.int64())


def _low_words(array: pa.Array) -> pa.Array:
    """Return the low half of each decimal: up to 18 digits, the high half only repeats its sign."""
    low = fixed_values(array, np.int64, 2)[:, 0 if np.little_endian else 1]
    nulls = pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(low, pa.int64(), mask=nulls)


def _concatenated(encoded: pa.ChunkedArray, null_code: int) -> IntArray:
    codes = [chunk.indices.fill_null(null_code).to_numpy() for chunk in encoded.chunks]
    joined: IntArray = np.concatenate([np.empty(0, np.int64), *codes])
    return joined


def sorted_codes(values: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the distinct values, ascending, and for each row the place of its value among them.

    None: they are few, or repeat so much that they are better hashed.

    >>> sorted_codes(np.arange(3)) is None
    True
    """
    count = len(values)
    if count < LEAST_SORTED_ROWS or not _mostly_differ(values):
        return None
    if (values[1:] > values[:-1]).all():
        return values, np.arange(count)
    order = np.argsort(values)
    ascending = values[order]
    is_first = np.ones(count, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    codes = np.empty(count, np.int64)
    codes[order] = np.cumsum(is_first) - 1
    return ascending[is_first], codes


def _mostly_differ(values: IntArray) -> bool:
    sample = values[:: max(1, len(values) // _SAMPLE_ROWS)]
    return 2 * len(distinct(sample)) > len(sample)
