"""Which change deletes can kill a row of some data files.

Rules: a delete kills a row of the same key iff its Lsn is strictly greater. A base row stands
after everything in its transaction, so only a later transaction reaches it; an insert can also be
followed by a delete in its own transaction.

Where the table has ordering columns, their values come first, so an insert can die by a delete of
any transaction. A base row cannot: a delete that was merged before it has been decided.

Where the first row of a key stays, an insert dies by a delete of any earlier event, and a base row
by none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from arctic.scan.file_order import age_order
from arctic.table.files import FileKind, TableFile
from arctic.table.merge_engine import MergeEngine
from arctic.tree.key_range import KeyRange, KeyRangeIndex


class Reach(Enum):
    """Whether a change delete can kill some row, and if not, why."""

    POSSIBLE = "possible"
    TOO_OLD = "older than every row"
    OTHER_KEYS = "holds other keys than the rows that are old enough"


NEVER = 2**63
"""Above every transaction id."""


def least_deadly_transaction(data: TableFile, engine: MergeEngine, *, is_ordered: bool) -> int:
    """Return the least transaction id whose deletes can kill a row of a file.

    Args:
        data: the file.
        engine: what becomes of the rows of a key.
        is_ordered: whether the table has ordering columns.
    """
    if data.kind is FileKind.BASE:
        return NEVER if engine is MergeEngine.FIRST_ROW else data.transaction_id + 1
    return 0 if engine.weighs_rows(is_ordered=is_ordered) else data.transaction_id


_MOST_RANGES = 100_000
"""Ranges that are kept, of about 300 bytes each: steps go over files node by node."""


class FileRanges:
    """What is known of the keys of files: the range of each, worked out once, and their order.

    Memory: ``_MOST_RANGES`` ranges; where there are more files, some are worked out again.
    """

    __slots__ = ("_by_path", "_key_ids", "engine", "ordering_ids")

    def __init__(
        self,
        key_ids: Sequence[int],
        ordering_ids: Sequence[int] = (),
        engine: MergeEngine = MergeEngine.LAST_ROW,
    ) -> None:
        self._key_ids = key_ids
        self.ordering_ids = tuple(ordering_ids)
        """Of the table's ordering columns; none: the engine goes by the order of events."""
        self.engine = engine
        self._by_path: dict[str, KeyRange] = {}

    def least_deadly_transaction(self, data: TableFile) -> int:
        """Return the least transaction id whose deletes can kill a row of the file."""
        return least_deadly_transaction(data, self.engine, is_ordered=bool(self.ordering_ids))

    @property
    def weighs_rows(self) -> bool:
        """Whether an insert can also die by what is merged already."""
        return self.engine.weighs_rows(is_ordered=bool(self.ordering_ids))

    def of(self, file: TableFile) -> KeyRange:
        """Return the keys that a file can hold."""
        keys = self._by_path.get(file.path)
        if keys is None:
            if len(self._by_path) >= _MOST_RANGES:
                self._by_path.clear()
            keys = self._by_path[file.path] = KeyRange.of(file.bounds, self._key_ids)
        return keys


_FEW_FILES = 8
"""So many are tried one by one in less time than it takes to sort them."""


class ReachIndex:
    """Judges change deletes, one by one, against the data files of one task."""

    __slots__ = ("_index", "_keys", "_least", "_thresholds")

    def __init__(self, thresholds: Sequence[int], keys: Sequence[KeyRange]) -> None:
        """Take what matters of each file: ``FileRanges.least_deadly_transaction`` and its range."""
        self._thresholds = thresholds
        self._least = min(thresholds)
        self._keys = keys
        self._index = KeyRangeIndex(keys) if len(keys) > _FEW_FILES else None

    @classmethod
    def of(cls, data: Sequence[TableFile], ranges: FileRanges) -> ReachIndex:
        """Return the index of some files, at least one."""
        keys = [ranges.of(file) for file in data]
        return cls([ranges.least_deadly_transaction(file) for file in data], keys)

    def judge(self, delete: TableFile, keys: KeyRange) -> Reach:
        """Say whether a delete can kill a row.

        Args:
            delete: a change delete of the same partition and of an overlapping node.
            keys: its key range.
        """
        if delete.transaction_id < self._least:
            return Reach.TOO_OLD
        if self._index is not None:
            for place in self._index.overlapping(keys):
                if self._thresholds[place] <= delete.transaction_id:
                    return Reach.POSSIBLE
            return Reach.OTHER_KEYS
        for threshold, rows in zip(self._thresholds, self._keys, strict=True):
            if threshold <= delete.transaction_id and rows.overlaps(keys):
                return Reach.POSSIBLE
        return Reach.OTHER_KEYS


class TouchingDeletes(NamedTuple):
    """The deletes that can touch some data files."""

    files: tuple[TableFile, ...]
    """The oldest first; parts that are touched by the same deletes may share one tuple."""
    cost_bytes: int
    """Their packing weight."""


class DeletesByPart:
    """Deals the change deletes of one node out to parts of its data.

    Strategy: where keys are spread at random, most deletes can touch every file. Those are told
    apart once; a part then takes the ones that are young enough, as a tuple that it shares with
    other parts. Only the rest is searched by key range. Deletes are handled as their ranks by
    age: a node of thousands of parts and deletes has millions of pairs.
    """

    __slots__ = (
        "_costs",
        "_data_keys",
        "_deletes",
        "_elsewhere",
        "_elsewhere_index",
        "_everywhere",
        "_keys",
        "_suffixes",
        "_thresholds",
        "_times",
    )

    def __init__(
        self,
        deletes: Sequence[TableFile],
        data: Sequence[TableFile],
        ranges: FileRanges,
        *,
        open_file_cost_bytes: int,
    ) -> None:
        self._thresholds = [ranges.least_deadly_transaction(file) for file in data]
        self._data_keys = [ranges.of(file) for file in data]
        self._deletes = sorted(deletes, key=age_order)
        self._times = [delete.transaction_id for delete in self._deletes]
        self._costs = [max(delete.size_bytes, open_file_cost_bytes) for delete in self._deletes]
        self._keys = [ranges.of(delete) for delete in self._deletes]
        core = KeyRange.core(self._data_keys) if deletes else KeyRange(())
        self._everywhere: list[int] = []
        self._elsewhere: list[int] = []
        for rank, keys in enumerate(self._keys):
            (self._everywhere if core.overlaps(keys) else self._elsewhere).append(rank)
        self._suffixes: dict[int, TouchingDeletes] = {}
        self._elsewhere_index = KeyRangeIndex([self._keys[rank] for rank in self._elsewhere])

    def touching(self, start: int, stop: int) -> TouchingDeletes:
        """Return the deletes that can kill a row of the files from start to stop, exclusive."""
        # Ranks rise with the transaction, so the young enough ones are those from here on.
        least = bisect_left(self._times, min(self._thresholds[start:stop]))
        first = bisect_left(self._everywhere, least)
        found = self._found_elsewhere(start, stop, least) if self._elsewhere else None
        if found:
            return self._of(sorted([*self._everywhere[first:], *found]))
        if first not in self._suffixes:
            self._suffixes[first] = self._of(self._everywhere[first:])
        return self._suffixes[first]

    def _of(self, ranks: Sequence[int]) -> TouchingDeletes:
        files = tuple(map(self._deletes.__getitem__, ranks))
        return TouchingDeletes(files, sum(map(self._costs.__getitem__, ranks)))

    def _found_elsewhere(self, start: int, stop: int, least: int) -> list[int]:
        keys = self._data_keys[start:stop]
        near = self._elsewhere_index.all_overlapping(KeyRange.hull(keys))
        # What overlaps every file needs no look at each of them; with one file, that is all.
        sure = near
        if near and len(keys) > 1:
            sure = self._elsewhere_index.all_overlapping(KeyRange.core(keys))
        first = bisect_left(self._elsewhere, least)
        found = [self._elsewhere[place] for place in sure if place >= first]
        if len(near) > len(sure):
            rows = ReachIndex(self._thresholds[start:stop], keys)
            for place in set(near).difference(sure):
                if place >= first:
                    rank = self._elsewhere[place]
                    if rows.judge(self._deletes[rank], self._keys[rank]) is Reach.POSSIBLE:
                        found.append(rank)
        return found
