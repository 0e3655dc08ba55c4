"""Where the values of rows lie in events of a binary log, found without looking at a row alone.

Strategy: rows of an event follow one another, and each says by its values how long it is; but
events are many. So one step finds a column of one row in every event at once: first the first row
of each, then the second of those that have one, until all are through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arctic.errors import FormatError

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How long a value of a column is."""

    prefix: int
    """Bytes before it that say how many it has; 0: always as many as ``size``."""
    size: int = 0
    """Bytes of each value, where no prefix says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowImages:
    """The places of all values in a buffer, row after row."""

    buffer: Bytes
    event: Integers
    """Number of each row's event; rows are in the order of the log."""
    starts: tuple[Integers, ...]
    """Of each column."""
    lengths: tuple[Integers, ...]
    """Of each column; -1 for null."""


def row_images(events: Sequence[bytes], columns: Sequence[Extent]) -> RowImages:
    """Find the values of all rows.

    Args:
        events: the rows of each event, with every column of the table.
        columns: of the table.

    Memory: the events once, and two numbers for each value.

    Raises:
        FormatError: an event ends inside of a row.
    """
    # A prefix may be looked at where a null has none, at the very end.
    buffer = np.frombuffer(b"".join(events) + bytes(16), np.uint8)
    ends = np.cumsum([len(event) for event in events], dtype=np.int64)
    place = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
    number = np.arange(len(events), dtype=np.int64)
    alive = place < ends
    found: list[tuple[Integers, list[Integers], list[Integers]]] = []
    while alive.any():
        place, number = place[alive], number[alive]
        starts, lengths, place = _one_row(buffer, place, columns)
        if (place > ends[number]).any():
            raise FormatError("an event of the binary log ends inside of a row")
        found.append((number, starts, lengths))
        alive = place < ends[number]
    if not found:
        nothing = np.empty(0, np.int64)
        several = tuple(nothing for _ in columns)
        return RowImages(buffer=buffer, event=nothing, starts=several, lengths=several)
    event = np.concatenate([numbers for numbers, _, _ in found])
    order = np.argsort(event, kind="stable")
    return RowImages(
        buffer=buffer,
        event=event[order],
        starts=tuple(
            np.concatenate([starts[n] for _, starts, _ in found])[order]
            for n in range(len(columns))
        ),
        lengths=tuple(
            np.concatenate([lengths[n] for _, _, lengths in found])[order]
            for n in range(len(columns))
        ),
    )


def _one_row(
    buffer: Bytes, place: Integers, columns: Sequence[Extent]
) -> tuple[list[Integers], list[Integers], Integers]:
    """Return where the columns of one row of each event begin, how long they are, where it ends."""
    bitmap = place
    _check_inside(buffer, place)
    place = place + (len(columns) + 7) // 8
    starts, lengths = [], []
    for number, column in enumerate(columns):
        _check_inside(buffer, place)
        is_null = (buffer[bitmap + number // 8] >> (number % 8)) & 1 == 1
        length = np.full(len(place), column.size, np.int64)
        if column.prefix:
            length = little_endian(buffer, place, column.prefix)
            place = np.where(is_null, place, place + column.prefix)
        starts.append(place)
        lengths.append(np.where(is_null, -1, length))
        place = np.where(is_null, place, place + length)
    return starts, lengths, place


def _check_inside(buffer: Bytes, place: Integers) -> None:
    if (place > len(buffer) - 16).any():
        raise FormatError("an event of the binary log ends inside of a row")


def little_endian(buffer: Bytes, starts: Integers, size: int) -> Integers:
    """Return numbers of up to seven bytes, the least significant one first."""
    value = np.zeros(len(starts), np.int64)
    for byte in range(size):
        value |= buffer[starts + byte].astype(np.int64) << (8 * byte)
    return value


def big_endian(buffer: Bytes, starts: Integers, size: int) -> Integers:
    """Return numbers of up to seven bytes, the most significant one first."""
    value = np.zeros(len(starts), np.int64)
    for byte in range(size):
        value = (value << 8) | buffer[starts + byte].astype(np.int64)
    return value
