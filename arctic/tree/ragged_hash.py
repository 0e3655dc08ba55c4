"""The hash of strings and binary values, which differ in length, over whole Arrow columns.

Strategy:
    - Java's hash is a polynomial in 31, and 31 has an inverse modulo 2**32. So with
      ``P[k] = sum(unit[j] * 31**-(j+1) for j < k)``, one running sum over the bytes of many
      strings, the hash of the string at ``start..end`` is ``(P[end] - P[start]) * 31**end``.
    - Binary is hashed from its last byte to its first, so its powers rise: with
      ``Q[k] = sum(byte[j] * 31**j for j < k)`` it is ``(Q[end] - Q[start]) * 31**-start``, and
      the 1 that it starts from ends as ``31**length``.
    - The running sum goes over blocks of some thousand values, so that its tables stay in the
      processor's cache.
    - Text outside ASCII is turned from UTF-8 into Java's UTF-16 a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from arctic.columns.buffers import value_bytes, value_offsets
from arctic.errors import InvalidInputError

Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.integer[Any]]

BLOCK_UNITS = 2**16
"""Characters or bytes that are summed up at a time; a longer value is a block of its own."""

_INVERSE_OF_31 = pow(31, -1, 2**32)


def hash_strings(array: Any) -> Words:
    """Return Java's ``String.hashCode`` of every value; any number under a null.

    Args:
        array: ``string`` or ``large_string``, of at least one row.

    Raises:
        InvalidInputError: bytes that are not UTF-8.
    """
    try:
        return _polynomials(array)
    except UnicodeDecodeError:
        pass
    try:
        # What stands under a null need not be text: hash again without it.
        return _polynomials(pc.fill_null(array, ""))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"a key string holds bytes that are not UTF-8: {error}") from error


def _polynomials(array: Any) -> Words:
    offsets, data = value_offsets(array), value_bytes(array)
    hashes = np.empty(len(array), np.uint32)
    for start, stop in _blocks(offsets):
        ends = offsets[start : stop + 1] - offsets[start]
        units: Numbers = data[offsets[start] : offsets[stop]]
        if units.size and units.max() >= 0x80:
            units, ends = _utf16(units, ends)
        powers, inverses = _powers(len(units))
        sums = _running_sums(units, inverses[1:])[ends]
        hashes[start:stop] = (sums[1:] - sums[:-1]) * powers[ends[1:]]
    return hashes


def _utf16(data: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Turn UTF-8 bytes and their row ends into UTF-16 code units and their row ends."""
    units = np.frombuffer(data.tobytes().decode().encode("utf-16-le"), np.uint16)
    # A byte begins no unit (continuation), one, or two (outside the basic plane).
    begun = ((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0)
    units_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(begun)])
    return units, units_before[ends]


def hash_bytes(array: Any) -> Words:
    """Return Java's ``ByteBuffer.hashCode`` of every value; any number under a null.

    Args:
        array: ``binary``, ``large_binary`` or ``fixed_size_binary``, of at least one row.
    """
    offsets, data = value_offsets(array), value_bytes(array)
    hashes = np.empty(len(array), np.uint32)
    for start, stop in _blocks(offsets):
        ends = offsets[start : stop + 1] - offsets[start]
        units = data[offsets[start] : offsets[stop]].view(np.int8)
        powers, inverses = _powers(len(units))
        sums = _running_sums(units, powers)[ends]
        hashes[start:stop] = (sums[1:] - sums[:-1]) * inverses[ends[:-1]]
        hashes[start:stop] += powers[np.diff(ends)]
    return hashes


def _blocks(offsets: Numbers) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of at most ``BLOCK_UNITS`` bytes, but of at least one row."""
    start, count = 0, len(offsets) - 1
    while start < count:
        # Of the array's own type, or searchsorted would convert the whole array each time.
        limit = offsets.dtype.type(min(int(offsets[start]) + BLOCK_UNITS, int(offsets[-1])))
        stop = max(int(np.searchsorted(offsets, limit, side="right")) - 1, start + 1)
        yield start, stop
        start = stop


def _running_sums(units: Numbers, weights: Words) -> Words:
    sums = np.zeros(len(units) + 1, np.uint32)
    np.multiply(units, weights[: len(units)], out=sums[1:], dtype=np.uint32, casting="unsafe")
    np.cumsum(sums, dtype=np.uint32, out=sums)
    return sums


def _powers(count: int) -> tuple[Words, Words]:
    """Return ``31**j`` and ``31**-j`` modulo 2**32, for j from 0 to ``count``, inclusive."""
    if count <= BLOCK_UNITS:
        return _block_powers()
    return _power_table(31, count), _power_table(_INVERSE_OF_31, count)


@cache
def _block_powers() -> tuple[Words, Words]:
    return _power_table(31, BLOCK_UNITS), _power_table(_INVERSE_OF_31, BLOCK_UNITS)


def _power_table(base: int, count: int) -> Words:
    table = np.full(count + 1, base, np.uint32)
    table[0] = 1
    return np.multiply.accumulate(table, dtype=np.uint32)
