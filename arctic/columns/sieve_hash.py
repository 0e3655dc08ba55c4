"""A 64-bit hash of every string or binary value of a column; a first sieve, never a proof.

Strategy: values are read eight bytes at a time through an overlapping view of the data buffer,
all rows together, and rows that are shorter drop out. What is left of a value behind its last
whole word is read as its *last* eight bytes, which overlap the word before.

Rules:
    - Equal values have equal hashes, wherever they lie in their buffers.
    - Unequal values may collide: whoever asks compares the bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.buffers import value_bytes, value_offsets

Hashes = npt.NDArray[np.uint64]

MAX_WORDS = 64
"""Bytes beyond 512, except the last eight, are not hashed: one huge value must not cost a loop
over all of it."""

# Explicitly little-endian, so that shifting a word drops the bytes in front of a value.
_WORD = np.dtype("<u8")
_WORD_BYTES = 8
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(_WORD_BYTES + 1)], np.uint64)


def sieve_hashes(array: pa.Array) -> Hashes:
    """Return a hash for each value.

    Args:
        array: string, binary, their large forms or fixed-size binary, without nulls.
    """
    if not len(array):
        return np.empty(0, np.uint64)
    data = _with_whole_word(value_bytes(array))
    offsets = value_offsets(array).astype(np.int64, copy=False)
    first, end = offsets[:-1], offsets[1:]
    length = end - first
    shortest = int(length.min())
    if shortest == length.max() and _is_packed(first, shortest):
        return _hash_rows(data, int(first[0]), len(array), shortest)
    return _hash_ragged(data, first, end)


def _with_whole_word(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return bytes of which at least one word can be read."""
    if len(data) >= _WORD_BYTES:
        return data
    return np.concatenate([data, np.zeros(_WORD_BYTES, np.uint8)])


def _is_packed(first: npt.NDArray[np.int64], length: int) -> bool:
    """Say whether values of one length lie one behind the other."""
    return length >= _WORD_BYTES and bool((np.diff(first) == length).all())


def _hash_rows(data: npt.NDArray[np.uint8], start: int, count: int, length: int) -> Hashes:
    """Hash values of one length, packed: whole columns of words, without an index."""
    words = min((length - 1) // _WORD_BYTES, MAX_WORDS)
    places = [length - _WORD_BYTES, *range(0, words * _WORD_BYTES, _WORD_BYTES)]
    hashes = _begin(np.full(count, length, np.int64))
    for place in places:
        column: Hashes = np.ndarray((count,), _WORD, data, start + place, (length,))
        _mix(hashes, column)
    return hashes


def _hash_ragged(
    data: npt.NDArray[np.uint8], first: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> Hashes:
    """Hash values of any lengths, in the order of words that ``_hash_rows`` has."""
    last = len(data) - _WORD_BYTES
    windows: Hashes = np.ndarray((last + 1,), _WORD, data, strides=(1,))
    length = end - first
    hashes = _begin(length)
    _mix(hashes, _last_words(windows, first, end, last))
    rows = np.flatnonzero(length > _WORD_BYTES)
    place = first[rows]
    left = length[rows] - _WORD_BYTES
    for _ in range(MAX_WORDS):
        if not len(rows):
            break
        part = hashes[rows]
        _mix(part, windows[place])
        hashes[rows] = part
        on = np.flatnonzero(left > _WORD_BYTES)
        rows, place, left = rows[on], place[on] + _WORD_BYTES, left[on] - _WORD_BYTES
    return hashes


def _last_words(
    windows: Hashes, first: npt.NDArray[np.int64], end: npt.NDArray[np.int64], last: int
) -> Hashes:
    """Return the last eight bytes of each value, or all of one that has fewer."""
    length = end - first
    words = windows[np.clip(end - _WORD_BYTES, 0, last)]
    short = np.flatnonzero(length < _WORD_BYTES)
    if len(short):
        start = first[short]
        at = np.minimum(start, last)
        skipped = ((start - at) * 8).astype(np.uint64)
        # An empty value at the very end of the buffer would be shifted by all 64 bits, which is
        # undefined; its mask is 0 anyway.
        words[short] = (windows[at] >> np.minimum(skipped, np.uint64(63))) & _LOW_BYTES[
            length[short]
        ]
    return words


def _begin(length: npt.NDArray[np.int64]) -> Hashes:
    hashes: Hashes = length.astype(np.uint64) * _MULTIPLIER
    return hashes


def _mix(hashes: Hashes, words: Hashes) -> None:
    hashes ^= words
    hashes *= _MULTIPLIER
    hashes ^= hashes >> _FOLD
