"""Files of a task that are being opened before it needs them, where that takes a while.

Strategy: the order in which a task opens its files is known. While it reads one of them, the next
few are asked for; a small one comes whole. Files of this machine are opened when they are needed.

Rules:
    - Whatever a task opens in another order, or again, is opened for it at that moment.
    - What was opened in vain is closed with the task.

Memory: ``AHEAD`` small files, or the beginnings of large ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

from arctic.errors import ArcticError
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.storage.table_io import TableIO
from arctic.mor.request import OpenFile
from arctic.scan.task import NodeTask

AHEAD = 8
"""Files of one task that are on their way."""


@contextmanager
def opened_ahead(io: TableIO, tasks: Sequence[NodeTask]) -> Iterator[OpenFile]:
    """Yield what opens files for tasks that are merged one after the other."""
    with opened_in_order(io, merged_paths(tasks), _opener(io, tasks)) as open_file:
        yield open_file


@contextmanager
def opened_in_order(
    io: TableIO, paths: Iterable[str], open_file: OpenFile | None = None
) -> Iterator[OpenFile]:
    """Yield what opens files that are likely to be needed in this order, each once.

    Args:
        io: access to them.
        paths: of the files.
        open_file: what opens one; None: the access does.
    """
    open_file = open_file or io.open_input
    if is_local(io.location):
        yield open_file
        return
    ahead = _Ahead(open_file, paths)
    try:
        yield ahead.open
    finally:
        ahead.close()


class _Ahead:
    def __init__(self, open_file: OpenFile, paths: Iterable[str]) -> None:
        self._open_file = open_file
        self._later = deque(paths)
        self._coming: dict[str, Future[Any]] = {}

    def open(self, path: str) -> Any:
        self._ask()
        coming = self._coming.pop(path, None)
        self._ask()
        return self._open_file(path) if coming is None else coming.result()

    def close(self) -> None:
        self._later.clear()
        for coming in self._coming.values():
            if not coming.cancel():
                with suppress(ArcticError):
                    coming.result().close()

    def _ask(self) -> None:
        while self._later and len(self._coming) < AHEAD:
            path = self._later.popleft()
            self._coming[path] = far_threads().submit(self._open_file, path)


def _opener(io: TableIO, tasks: Sequence[NodeTask]) -> OpenFile:
    """Return what opens files, those of partitions that are too old past the cache."""
    newest = None if io.cache is None else io.newest
    if newest is None:
        return io.open_input
    old = frozenset(merged_paths(task for task in tasks if not newest.holds(task.partition)))
    plain = io.without_cache()
    return lambda path: (plain if path in old else io).open_input(path)


def merged_paths(tasks: Iterable[NodeTask]) -> Iterable[str]:
    """Return the files of tasks, each once, in the order in which a merge opens them."""
    order: dict[str, None] = {}
    for task in tasks:
        deletes = sorted(task.change_deletes, key=lambda file: (file.transaction_id, file.path))
        order.update((file.path, None) for file in deletes)
        for part in task.data:
            order.update((file.path, None) for file in part.position_deletes)
            order[part.file.path] = None
    return order
