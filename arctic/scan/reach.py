"""Which change deletes can kill a row of some data files.

Rules: a delete kills a row of the same key iff its Lsn is strictly greater. A base row stands
after everything in its transaction, so only a later transaction reaches it; an insert can also be
followed by a delete in its own transaction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum

from arctic.scan.order import age_order
from arctic.table.files import FileKind, KeyedFile
from arctic.tree.key_range import KeyRange, KeyRangeIndex


class Reach(Enum):
    """Whether a change delete can kill some row, and if not, why."""

    POSSIBLE = "possible"
    TOO_OLD = "older than every row"
    OTHER_KEYS = "holds other keys than the rows that are old enough"


def least_deadly_transaction(data: KeyedFile) -> int:
    """Return the least transaction id whose deletes can kill a row of the file."""
    return data.transaction_id + (1 if data.kind is FileKind.BASE else 0)


class FileRanges:
    """The key range of each file, worked out once."""

    __slots__ = ("_by_path", "_key_ids")

    def __init__(self, key_ids: Sequence[int]) -> None:
        self._key_ids = key_ids
        self._by_path: dict[str, KeyRange] = {}

    def of(self, file: KeyedFile) -> KeyRange:
        """Return the keys that a file can hold."""
        keys = self._by_path.get(file.path)
        if keys is None:
            keys = self._by_path[file.path] = KeyRange.of(file.bounds, self._key_ids)
        return keys


class ReachIndex:
    """Judges change deletes, one by one, against the data files of one task."""

    __slots__ = ("_index", "_least", "_thresholds")

    def __init__(self, data: Sequence[KeyedFile], ranges: FileRanges) -> None:
        self._thresholds = [least_deadly_transaction(file) for file in data]
        self._least = min(self._thresholds)
        self._index = KeyRangeIndex([ranges.of(file) for file in data])

    def judge(self, delete: KeyedFile, keys: KeyRange) -> Reach:
        """Say whether a delete can kill a row.

        Args:
            delete: a change delete of the same partition and of an overlapping node.
            keys: its key range.
        """
        if delete.transaction_id < self._least:
            return Reach.TOO_OLD
        for place in self._index.overlapping(keys):
            if self._thresholds[place] <= delete.transaction_id:
                return Reach.POSSIBLE
        return Reach.OTHER_KEYS


class DeletesByPart:
    """Deals the change deletes of one node out to parts of its data.

    Strategy: where keys are spread at random, most deletes can touch every file. Those are told
    apart once; a part then takes the ones that are young enough, as a tuple that it shares with
    other parts. Only the rest is searched by key range.
    """

    __slots__ = ("_elsewhere", "_elsewhere_index", "_everywhere", "_ranges", "_suffixes", "_times")

    def __init__(
        self, deletes: Sequence[KeyedFile], data: Sequence[KeyedFile], ranges: FileRanges
    ) -> None:
        self._ranges = ranges
        self._everywhere: list[KeyedFile] = []
        self._elsewhere: list[tuple[KeyedFile, KeyRange]] = []
        core = KeyRange.core([ranges.of(file) for file in data]) if deletes else KeyRange(())
        for delete in sorted(deletes, key=age_order):
            keys = ranges.of(delete)
            if core.overlaps(keys):
                self._everywhere.append(delete)
            else:
                self._elsewhere.append((delete, keys))
        self._times = [delete.transaction_id for delete in self._everywhere]
        self._suffixes: dict[int, tuple[KeyedFile, ...]] = {}
        self._elsewhere_index = KeyRangeIndex([keys for _, keys in self._elsewhere])

    def touching(self, data: Sequence[KeyedFile]) -> tuple[KeyedFile, ...]:
        """Return the deletes that can kill a row of these files, the oldest first."""
        start = bisect_left(self._times, min(map(least_deadly_transaction, data)))
        if start not in self._suffixes:
            self._suffixes[start] = tuple(self._everywhere[start:])
        found = self._found_elsewhere(data)
        if not found:
            return self._suffixes[start]
        return tuple(sorted((*self._suffixes[start], *found), key=age_order))

    def _found_elsewhere(self, data: Sequence[KeyedFile]) -> list[KeyedFile]:
        if not self._elsewhere:
            return []
        hull = KeyRange.hull([self._ranges.of(file) for file in data])
        near = [self._elsewhere[place] for place in self._elsewhere_index.overlapping(hull)]
        if len(data) == 1:
            least = least_deadly_transaction(data[0])
            return [delete for delete, _ in near if delete.transaction_id >= least]
        rows = ReachIndex(data, self._ranges)
        return [delete for delete, keys in near if rows.judge(delete, keys) is Reach.POSSIBLE]
