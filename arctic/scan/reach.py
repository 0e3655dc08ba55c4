"""Which change deletes can kill a row of some data files.

Rules: a delete kills a row of the same key iff its Lsn is strictly greater. A base row stands
after everything in its transaction, so only a later transaction reaches it; an insert can also be
followed by a delete in its own transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

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


class ReachIndex:
    """Judges change deletes against the data files of one task."""

    __slots__ = ("_index", "_least", "_thresholds")

    def __init__(self, data: Sequence[KeyedFile], key_ids: Sequence[int]) -> None:
        self._thresholds = [least_deadly_transaction(file) for file in data]
        self._least = min(self._thresholds)
        self._index = KeyRangeIndex([KeyRange.of(file.bounds, key_ids) for file in data])

    def judge(self, delete: KeyedFile, keys: KeyRange) -> Reach:
        """Say whether a delete of an overlapping node can kill a row.

        Args:
            delete: a change delete of the same partition.
            keys: the key range of the delete.
        """
        if delete.transaction_id < self._least:
            return Reach.TOO_OLD
        for place in self._index.overlapping(keys):
            if self._thresholds[place] <= delete.transaction_id:
                return Reach.POSSIBLE
        return Reach.OTHER_KEYS
