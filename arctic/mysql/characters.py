"""Texts of one length, built a character of each at a time; and what is told of a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arctic.mysql.row_images import Bytes, Extent, Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class BinlogColumn:
    """A column as a binary log describes it."""

    name: str
    type: str
    """As the information schema writes it, without lengths of texts."""
    kind: str
    """Which of ``KINDS`` reads it."""
    extent: Extent
    size: int = 0
    """Bytes of a number, of an enumeration or of a set; how far bytes are filled up; 0: not."""
    is_unsigned: bool = False
    precision: int = 0
    scale: int = 0
    """Digits of a decimal after the point, or of the seconds of a time."""
    labels: tuple[str, ...] = ()
    """Of an enumeration, from number 0 on, or of a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the values of one column are that are not null."""

    buffer: Bytes
    starts: Integers
    lengths: Integers

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.starts)


def digits(numbers: Integers, width: int) -> Bytes:
    """Return numbers as decimal digits, with zeros in front, a row for each."""
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def joined(characters: Bytes) -> pa.Array:
    """Return texts of one length, whose characters are rows of a matrix."""
    count, width = characters.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    data = np.ascontiguousarray(characters)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))


def marks(count: int, mark: str) -> Bytes:
    """Return a character, a row for each text."""
    return np.full((count, 1), ord(mark), np.uint8)
