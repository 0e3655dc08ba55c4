"""Catalogs in databases that are open in this process: to open one takes longer than to ask it.

Rules:
    - An object is used again only for the same file, in the same process, with the same right to
      write. A warehouse that was deleted and made again is opened again.
    - One on a server is used again for the same settings, wherever these come from. It has a pool,
      so a process has few connections however often it opens the catalog.
    - Other catalogs are opened each time: tokens expire.
    - Threads share an object. An embedded one has no connection: every question opens one.
    - A child never closes what its parent has opened: the server would end the parent's session.
    - The file is looked at, never opened: to close it would drop the locks that SQLite holds on it
      for other threads of this process, and another process would take their log away.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog

from arctic.iceberg.catalogs.read_only import may_only_read

_MOST = 8

_Identity = tuple[object, ...]


class KeptCatalogs:
    """The catalogs that were used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_parents: list[object] = []
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_to_parent)

    def of(
        self, database: Path, settings: tuple[tuple[str, str], ...], make: Callable[[], Catalog]
    ) -> Catalog:
        """Return the catalog of a SQLite file, which ``make`` opens where it is not open.

        Args:
            database: the file.
            settings: what else the catalog is opened with.
            make: may create the file; its errors come through.
        """
        return self._of((str(database), settings), partial(_identity, database), make)

    def on_server(
        self, settings: tuple[tuple[str, str], ...], make: Callable[[], Catalog]
    ) -> Catalog:
        """Return the catalog of a database on a server, which ``make`` opens where it is not open.

        Args:
            settings: all that the catalog is opened with.
            make: opens it; its errors come through.
        """
        return self._of(settings, tuple, make)

    def _of(
        self,
        key: tuple[object, ...],
        identify: Callable[[], _Identity | None],
        make: Callable[[], Catalog],
    ) -> Catalog:
        with self._lock:
            found = self._kept.get(key)
        if found is not None and found[0] == identify():
            return found[1]
        catalog = make()
        identity = identify()
        if identity is not None:
            with self._lock:
                self._kept[key] = (identity, catalog)
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    _, (_, unused) = self._kept.popitem(last=False)
                    unused.close()
        return catalog

    def _leave_to_parent(self) -> None:
        self._of_parents.append(self._kept)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], tuple[_Identity, Catalog]] = OrderedDict()


KEPT_CATALOGS = KeptCatalogs(_MOST)
"""Of this process."""


def _identity(database: Path) -> _Identity | None:
    """Return what tells a file from another one under its name; None: it is not to be kept."""
    try:
        found = os.stat(database)
    except OSError:
        return None
    if not found.st_size:
        return None
    return found.st_dev, found.st_ino, may_only_read(database), os.path.realpath(database)
