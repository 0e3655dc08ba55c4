"""Deletes of small files, kept for the other tasks of a read that have the same files.

Small writes leave deletes that reach several nodes, and every node has a task: each would open and
decode the same files. Where two threads come to a file together, one of them reads it for both.

Memory: ``MOST_BYTES`` at most, however many files there are; twenty thousand of a few rows fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Protocol, TypeVar

from arctic.table.files import TableFile

SMALL_BYTES = 256 * 2**10
"""A larger file is not kept."""
MOST_BYTES = 64 * 2**20
_AROUND_BYTES = 2_560
"""Of any file beside its rows: the objects around them, as measured."""


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
        self._coming: dict[str, Future[Sequence[Any]]] = {}
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
        with self._lock:
            known, coming = self._found.get(file.path), self._coming.get(file.path)
            if known is None and coming is None:
                self._coming[file.path] = Future()
        if known is not None:
            return known
        return self._read(file, read) if coming is None else coming.result()

    def _read(self, file: TableFile, read: Callable[[TableFile], Iterable[Rows]]) -> Sequence[Rows]:
        try:
            found = list(read(file))
        except BaseException as error:
            with self._lock:
                self._coming.pop(file.path).set_exception(error)
            raise
        cost = _AROUND_BYTES + sum(rows.held_bytes for rows in found)
        with self._lock:
            if cost <= self._left_bytes:
                self._left_bytes -= cost
                self._found[file.path] = found
            self._coming.pop(file.path).set_result(found)
        return found
