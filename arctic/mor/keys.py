"""Composite keys as dense integer codes, exactly, a whole column at a time.

Strategy: each column is coded on its own; two columns of codes are one column of numbers, which
is coded again before the next joins it. So no product can overflow, and a lookup goes on only
with the rows that were found so far.

An index of several columns first tries one hash of them all: where distinct keys have distinct
hashes, which is as good as always, a lookup is one of integers, and only what it finds is compared.
With two integer columns that was measured to take a third of the time.

Rules:
    - Two rows get one code iff all their key columns are equal.
    - Codes run from 0 to count - 1 without a gap.
    - A hash names a candidate; equality of every column decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.errors import InternalError
from arctic.mor.integer_index import Hits, IntArray, unordered_index
from arctic.mor.key_column import ColumnCodes, ColumnIndex, canonical, hash_keys, same_values


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


class KeyIndex:
    """A set of keys, in which batches of keys can be looked up again and again."""

    def __init__(self, keys: pa.Table) -> None:
        columns = _columns(keys)
        hashed = _HashedKeys.of(columns) if len(columns) > 1 else None
        self._match: _HashedKeys | _ChainedKeys = hashed or _ChainedKeys(columns)
        self.count = self._match.count
        """How many distinct keys there are."""

    def take_codes(self) -> IntArray:
        """Return the code of each row that the index was made of, and forget them."""
        codes, self._match.codes = self._match.codes, np.empty(0, np.int64)
        return codes

    def match(self, columns: Sequence[pa.Array]) -> Hits:
        """Find the rows whose key is in the set.

        Args:
            columns: the key columns in the order and of the types that the index was made of,
                all of one length.

        Returns:
            Ascending row numbers, and the code of each.
        """
        return self._match(columns)

    def lookup(self, columns: Sequence[pa.Array]) -> IntArray:
        """Return the code of every row, -1 where its key is not in the set."""
        rows, codes = self.match(columns)
        every = np.full(len(columns[0]), -1, np.int64)
        every[rows] = codes
        return every


class _HashedKeys:
    """Finds keys by one hash of all their columns."""

    def __init__(
        self, types: Sequence[pa.DataType], distinct: Sequence[pa.Array], hashes: IntArray
    ) -> None:
        self._types = types
        self._distinct = distinct
        self._index = unordered_index(hashes)
        self.count = len(hashes)
        self.codes: IntArray = np.empty(0, np.int64)

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> _HashedKeys | None:
        """Return the index; None if two keys share a hash, which then cannot name one of them."""
        values = [_canonical(column) for column in columns]
        encoded = pc.dictionary_encode(pa.array(hash_keys(values)))
        codes = encoded.indices.to_numpy().astype(np.int64)
        first = np.empty(len(encoded.dictionary), np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        places = pa.array(first)
        distinct = [column.take(places) for column in values]
        repeated = np.flatnonzero(first[codes] != np.arange(len(codes)))
        if len(repeated):
            rows, theirs = pa.array(repeated), pa.array(codes[repeated])
            for column, known in zip(values, distinct, strict=True):
                if not same_values(column.take(rows), known.take(theirs)).all():
                    return None
        index = cls([column.type for column in columns], distinct, encoded.dictionary.to_numpy())
        index.codes = codes
        return index

    def __call__(self, columns: Sequence[pa.Array]) -> Hits:
        for column, known in zip(columns, self._types, strict=True):
            if column.type != known:
                raise InternalError(f"key column of type {column.type} is looked up in {known}")
        values = [canonical(column) for column in columns]
        rows, codes = self._index.match(hash_keys(values))
        if not len(rows):
            return rows, codes
        same = np.ones(len(rows), bool)
        numbers, theirs = pa.array(rows), pa.array(codes)
        for column, distinct in zip(values, self._distinct, strict=True):
            same &= same_values(column.take(numbers), distinct.take(theirs))
        return (rows, codes) if same.all() else (rows[same], codes[same])


class _ChainedKeys:
    """Finds keys column by column, whatever their hashes are."""

    def __init__(self, columns: Sequence[pa.ChunkedArray]) -> None:
        coded = [ColumnCodes(column) for column in columns]
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
        self.codes: IntArray = first.codes
        self.count = first.cardinality

    def __call__(self, columns: Sequence[pa.Array]) -> Hits:
        rows, codes = self._first.match(columns[self._order[0]])
        for at, (column, cardinality, pairs) in zip(self._order[1:], self._others, strict=True):
            probe = columns[at]
            if len(rows) < len(probe):
                probe = probe.take(pa.array(rows))
            hits, more = column.match(probe)
            found, codes = pairs.match(pa.array(codes[hits] * cardinality + more))
            rows = rows[hits[found]]
        return rows, codes


def _columns(keys: pa.Table) -> list[pa.ChunkedArray]:
    if not keys.num_columns:
        raise InternalError("a key without columns")
    return list(keys.columns)


def _joined(codes: IntArray, column: ColumnCodes) -> ColumnCodes:
    """Code the pairs of two columns of codes; both are below 2**31, so a pair fits."""
    pairs = codes * column.cardinality + column.codes
    return ColumnCodes(pa.chunked_array([pa.array(pairs)]))


def _canonical(column: pa.ChunkedArray) -> pa.Array:
    chunks = [canonical(chunk) for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else canonical(pa.nulls(0, column.type))
