"""How far one micro-batch goes.

Rules:
    - A commit is never cut: readers see it whole, and the events of a key stay together.
    - The files of the pinned beginning come first, and may be cut between files: no key is in two
      of them with different rows.
    - At least one commit or one file is taken, else a stream would stand still.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from arctic.table.files import TableFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLimit:
    """Upper bounds of one micro-batch, inclusive; None: no bound."""

    max_files: int | None = None
    max_bytes: int | None = None
    max_rows: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is any bound."""
        return not (self.max_files is self.max_bytes is self.max_rows is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What one micro-batch takes."""

    first_files: int
    """How many files of the beginning, from the first one that was offered."""
    last_sequence: int | None
    """The last commit that is taken, 0 for none; None: all, also those without files."""


class _Taken:
    def __init__(self, limit: ChangeLimit) -> None:
        self._limit = limit
        self._files = self._bytes = self._rows = 0

    def take(self, files: Sequence[TableFile]) -> bool:
        """Take files together, or say that they are too many."""
        count = self._files + len(files)
        size = self._bytes + sum(file.size_bytes for file in files)
        rows = self._rows + sum(file.record_count for file in files)
        limit = self._limit
        over = any(
            bound is not None and value > bound
            for value, bound in (
                (count, limit.max_files),
                (size, limit.max_bytes),
                (rows, limit.max_rows),
            )
        )
        if over and self._files:
            return False
        self._files, self._bytes, self._rows = count, size, rows
        return True


def cut_changes(
    beginning: Sequence[TableFile], change: Iterable[TableFile], *, limit: ChangeLimit
) -> Cut:
    """Say how much of what lies ahead one micro-batch takes.

    Args:
        beginning: data files of the pinned state that are not done, in their order.
        change: files of the commits that are not done, in any order.
        limit: the bounds.

    >>> cut_changes((), (), limit=ChangeLimit(max_files=1))
    Cut(first_files=0, last_sequence=None)
    """
    taken = _Taken(limit)
    for number, file in enumerate(beginning):
        if not taken.take((file,)):
            return Cut(first_files=number, last_sequence=0)
    last = 0
    ordered = sorted(change, key=lambda file: file.sequence_number)
    for sequence_number, files in groupby(ordered, key=lambda file: file.sequence_number):
        if not taken.take(tuple(files)):
            return Cut(first_files=len(beginning), last_sequence=last)
        last = sequence_number
    return Cut(first_files=len(beginning), last_sequence=None)
