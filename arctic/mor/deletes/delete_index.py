"""Deletes in memory: as they were read, and as an index that says which rows they kill.

Of the deletes of a key the greatest counts: by Lsn; in a table with ordering columns by their
values, then by Lsn; where the first row of a key stays, the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.event_order import LEAST_NUMBER, compare, greatest_by_code
from arctic.columns.integers.integer_index import Hits, IntArray
from arctic.columns.key_codes import KeyIndex, factorise
from arctic.mor.filters.key_span import KeySpans
from arctic.table.files import ColumnBounds, FileKind, Value

ROW_BYTES = 160
"""What a delete takes beside its key at most, while an index of one key column is built and rows
are first looked up in it."""
COLUMN_BYTES = 68
"""What each further key column adds to it."""
ORDERING_BYTES = 40
"""What each ordering column adds: as read, sorted, taken for the newest, of rivals, compared."""
KEY_COPIES = 3
"""How often a key is in memory then: as read, hashed, and among the distinct ones. All three
were measured, as the peak of Arrow's and numpy's memory; an index itself takes less than half."""


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Deletes as they were read: columns of one length."""

    keys: pa.Table
    transaction_ids: IntArray
    file_offsets: IntArray
    ordering: tuple[IntArray, ...]
    """By which they are held against rows, see ``row_weights``; none: the later event wins."""

    @property
    def held_bytes(self) -> int:
        """What they take as they are."""
        columns = (self.transaction_ids, self.file_offsets, *self.ordering)
        return int(self.keys.get_total_buffer_size() + sum(column.nbytes for column in columns))

    @property
    def memory_bytes(self) -> int:
        """What they take, with the index that is built of them."""
        row_bytes = ROW_BYTES + COLUMN_BYTES * (self.keys.num_columns - 1)
        row_bytes += ORDERING_BYTES * len(self.ordering)
        return int(KEY_COPIES * self.keys.nbytes + row_bytes * self.keys.num_rows)

    def newest(self, codes: IntArray, count: int) -> IntArray:
        """Return the greatest row for each code of a key."""
        columns = (*self.ordering, self.transaction_ids, self.file_offsets)
        return greatest_by_code(columns, codes, count)

    def reduced(self) -> DeleteRows:
        """Return the newest delete of each key."""
        rows = self.newest(*factorise(self.keys))
        return DeleteRows(
            self.keys.take(pa.array(rows)),
            self.transaction_ids[rows],
            self.file_offsets[rows],
            tuple(column[rows] for column in self.ordering),
        )


class DeleteIndex:
    """Deleted keys with the greatest delete of each."""

    def __init__(self, rows: DeleteRows) -> None:
        self._keys = KeyIndex(rows.keys)
        newest = rows.newest(self._keys.take_codes(), self._keys.count)
        self._transaction_ids = rows.transaction_ids[newest]
        self._file_offsets = rows.file_offsets[newest]
        self._ordering = tuple(column[newest] for column in rows.ordering)
        self._rivals: tuple[IntArray, ...] = ()
        """For each key the greatest values of its rivals; of a key without any, the least."""
        first = self._ordering[0] if self._ordering else np.empty(0, np.int64)
        self._least = int(first.min(initial=np.iinfo(np.int64).max))
        """Of the first ordering column."""
        self._newest_id = int(self._transaction_ids.max(initial=-1))
        self._spans = KeySpans(rows.keys)

    def may_follow(self, transaction_id: int, kind: FileKind) -> bool:
        """Say whether some delete can come after a row of a file.

        Args:
            transaction_id: that of every row, or of every base row at most.
            kind: of the file: only inserts have offsets among those of deletes.
        """
        if kind is FileKind.INSERT:
            # By ordering columns an older delete can come after a newer insert.
            return self._newest_id >= transaction_id or bool(self._ordering)
        return self._newest_id > transaction_id

    def may_hold(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether some delete can have a key within bounds.

        Args:
            bounds: of each key column in key order; None where nothing is known.
        """
        return self._spans.meet(bounds)

    def match(self, keys: Sequence[pa.Array]) -> Hits:
        """Look keys up: the rows whose key is deleted, ascending, and what the index calls each.

        Args:
            keys: the key columns in key order.
        """
        return self._keys.match(keys)

    def transaction_ids(self, codes: IntArray) -> IntArray:
        """Return the transaction of the greatest delete of some keys.

        Args:
            codes: what the index calls the keys.
        """
        found: IntArray = self._transaction_ids[codes]
        return found

    def outdoes(self, upper: Value) -> bool:
        """Say whether each delete is greater than a row whose first ordering column has a bound.

        Args:
            upper: at least that row's value; None: unknown.
        """
        return isinstance(upper, int) and bool(self._ordering) and upper < self._least

    def add_rivals(self, codes: IntArray, ordering: Sequence[IntArray]) -> None:
        """Take rows of which one outdoes an insert of its key if its values are greater.

        Args:
            codes: what the index calls their keys.
            ordering: their weights.
        """
        if not self._rivals:
            self._rivals = tuple(
                np.full(self._keys.count, LEAST_NUMBER) for _ in range(len(ordering))
            )
        if _repeats(codes, self._keys.count):
            codes, places = np.unique(codes, return_inverse=True)
            best = greatest_by_code(ordering, places, len(codes))
            ordering = [column[best] for column in ordering]
        greater, _ = compare(ordering, [column[codes] for column in self._rivals])
        for held, values in zip(self._rivals, ordering, strict=True):
            held[codes[greater]] = values[greater]

    def are_dead(
        self,
        codes: IntArray,
        transaction_id: int | IntArray,
        file_offsets: IntArray | None,
        ordering: Sequence[IntArray],
    ) -> npt.NDArray[np.bool_]:
        """Say which of some rows that were looked up a delete kills.

        A row dies iff a delete of its key is greater, strictly: has a greater Lsn, or first greater
        weights. An insert also dies by a rival with greater ones.

        Args:
            codes: what the index calls their keys.
            transaction_id: that of every row, or of each; of base rows at most.
            file_offsets: those of insert rows; None for base rows, which come after every change
                of their transaction.
            ordering: their weights; none where deletes have none.
        """
        delete_ids = self._transaction_ids[codes]
        dead: npt.NDArray[np.bool_] = delete_ids > transaction_id
        if file_offsets is not None:
            later = self._file_offsets[codes] > file_offsets
            dead |= (delete_ids == transaction_id) & later
        if self._ordering:
            greater, equal = compare([column[codes] for column in self._ordering], ordering)
            dead = greater | (equal & dead)
            if self._rivals and file_offsets is not None:
                dead |= compare([column[codes] for column in self._rivals], ordering)[0]
        return dead


def _repeats(codes: IntArray, count: int) -> bool:
    """Say whether some code comes twice; of a base file's rows hardly one does."""
    rows = np.arange(len(codes))
    last = np.empty(count, np.int64)
    last[codes] = rows
    return not np.array_equal(last[codes], rows)
