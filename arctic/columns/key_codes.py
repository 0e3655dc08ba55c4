"""Composite keys as dense integer codes, exactly, a whole column at a time.

Strategy: each column is coded on its own; two columns of codes are one column of numbers, which
is coded again before the next joins it. So no product can overflow, and a lookup goes on only
with the rows that were found so far.

Rules:
    - Two rows get one code iff all their key columns are equal.
    - Codes run from 0 to count - 1 without a gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from arctic.columns.integers.integer_index import IntArray
from arctic.columns.key_column import ColumnCodes, ColumnIndex
from arctic.errors import InternalError


def factorise(keys: pa.Table) -> tuple[IntArray, int]:
    """Return the code of each row, and how many codes there are.

    Args:
        keys: one or more key columns, chunked in any way, possibly with nulls.
    """
    coded = [ColumnCodes(column) for column in _columns(keys)]
    codes, count = coded[0].codes, coded[0].cardinality
    for column in coded[1:]:
        joined = _joined(codes, column)
        codes, count = joined.codes, joined.cardinality
    return codes, count


def first_repeated(keys: pa.Table) -> int | None:
    """Return the first row whose key another row has too; None: all keys differ."""
    codes, count = factorise(keys)
    if count == keys.num_rows:
        return None
    return int(np.flatnonzero(np.bincount(codes, minlength=count)[codes] > 1)[0])


class KeyIndex:
    """A set of keys, in which batches of keys can be looked up again and again."""

    def __init__(self, keys: pa.Table) -> None:
        coded = [ColumnCodes(column) for column in _columns(keys)]
        # Cheap and selective columns first: every one leaves fewer rows to the next.
        self._order = sorted(
            range(len(coded)), key=lambda at: (coded[at].is_bytes, -coded[at].cardinality)
        )
        first, *others = (coded[at] for at in self._order)
        self._first = first.index()
        self._others: list[tuple[ColumnIndex, int, ColumnIndex]] = []
        """A further column, its cardinality, and the pairs of codes up to it."""
        for column in others:
            pairs = _joined(first.codes, column)
            self._others.append((column.index(), column.cardinality, pairs.index()))
            first = pairs
        self._codes: IntArray = first.codes
        self.count = first.cardinality
        """How many distinct keys there are."""

    def take_codes(self) -> IntArray:
        """Return the code of each row that the index was made of, and forget them."""
        codes, self._codes = self._codes, np.empty(0, np.int64)
        return codes

    def match(self, columns: Sequence[pa.Array]) -> tuple[IntArray, IntArray]:
        """Find the rows whose key is in the set.

        Args:
            columns: the key columns in the order and of the types that the index was made of,
                all of one length.

        Returns:
            Ascending row numbers, and the code of each.
        """
        rows, codes = self._first.match(columns[self._order[0]])
        for at, (column, cardinality, pairs) in zip(self._order[1:], self._others, strict=True):
            probe = columns[at]
            if len(rows) < len(probe):
                probe = probe.take(pa.array(rows))
            hits, more = column.match(probe)
            found, codes = pairs.match(pa.array(codes[hits] * cardinality + more))
            rows = rows[hits[found]]
        return rows, codes

    def lookup(self, columns: Sequence[pa.Array]) -> IntArray:
        """Return the code of every row, -1 where its key is not in the set."""
        rows, codes = self.match(columns)
        every = np.full(len(columns[0]), -1, np.int64)
        every[rows] = codes
        return every


def _columns(keys: pa.Table) -> list[pa.ChunkedArray]:
    if not keys.num_columns:
        raise InternalError("a key without columns")
    return list(keys.columns)


def _joined(codes: IntArray, column: ColumnCodes) -> ColumnCodes:
    """Code the pairs of two columns of codes; both are below 2**31, so a pair fits."""
    pairs = codes * column.cardinality + column.codes
    return ColumnCodes(pa.chunked_array([pa.array(pairs)]))
