"""A set of row numbers of one file, a bit for each row."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt


class RowSet:
    """Row numbers below a bound; a file of a hundred million rows takes 12.5 MB."""

    def __init__(self, row_count: int) -> None:
        self._bits = np.zeros(-(-row_count // 8), np.uint8)

    def add(self, rows: npt.NDArray[np.int64]) -> None:
        """Put row numbers into the set; they are distinct."""
        np.bitwise_or.at(self._bits, rows >> 3, (1 << (rows & 7)).astype(np.uint8))

    def __or__(self, other: RowSet) -> RowSet:
        """Return the rows that are in this set or in another one of the same file."""
        both = RowSet(0)
        both._bits = self._bits | other._bits
        return both

    def complement(self) -> RowSet:
        """Return all other rows of the file."""
        others = RowSet(0)
        others._bits = ~self._bits
        return others

    def to_bytes(self) -> bytes:
        """Return a bit for each row, the first row in the lowest bit of the first byte."""
        return self._bits.tobytes()

    def packed(self) -> bytes:
        """Return it as it travels: next to nothing where neighbours are alike."""
        return zlib.compress(self._bits.data, 1)

    @classmethod
    def unpacked(cls, packed: bytes) -> RowSet:
        """Return what ``packed`` was called of."""
        rows = cls(0)
        rows._bits = np.frombuffer(zlib.decompress(packed), np.uint8).copy()
        return rows

    @property
    def nbytes(self) -> int:
        """Memory that the set takes."""
        return self._bits.nbytes

    def slice(self, first_row: int, row_count: int) -> npt.NDArray[np.bool_]:
        """Say for each of some neighbouring rows whether it is in the set."""
        skipped = first_row & 7
        packed = self._bits[first_row >> 3 : -(-(first_row + row_count) // 8)]
        bits = np.unpackbits(packed, bitorder="little")
        return bits[skipped : skipped + row_count].view(np.bool_)
