"""Deletes of small files, kept for the other tasks of a read that have the same files.

Small writes leave deletes that reach several nodes, and every node has a task: each would open and
decode the same files.

Memory: ``MOST_BYTES`` at most, however many files there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Protocol, TypeVar

from arctic.table.files import TableFile

SMALL_BYTES = 256 * 2**10
"""A larger file is not kept."""
MOST_BYTES = 32 * 2**20
_LEAST_BYTES = 4_096
"""Of any file, whatever its rows take: the objects around them."""


class Sized(Protocol):
    """Some deletes of a file."""

    @property
    def held_bytes(self) -> int:
        """What they take as they are."""


Rows = TypeVar("Rows", bound=Sized)


class KeptDeletes:
    """What was read of small files, for one request; used by several threads, and pickles empty."""

    def __init__(self) -> None:
        self._found: dict[str, Sequence[Any]] = {}
        self._left_bytes = MOST_BYTES
        self._lock = Lock()

    def __reduce__(self) -> Any:
        """Travel without what was read."""
        return KeptDeletes, ()

    def of(self, file: TableFile, read: Callable[[TableFile], Iterable[Rows]]) -> Iterable[Rows]:
        """Return the deletes of a file, which are read if nobody has done so.

        Args:
            file: of deletes.
            read: yields them, always the same; a large file is not kept, and read lazily.
        """
        if file.size_bytes > SMALL_BYTES:
            return read(file)
        known = self._found.get(file.path)
        if known is not None:
            return known
        found = list(read(file))
        cost = max(_LEAST_BYTES, sum(rows.held_bytes for rows in found))
        with self._lock:
            if cost <= self._left_bytes and file.path not in self._found:
                self._left_bytes -= cost
                self._found[file.path] = found
        return found
