"""Tables of a SQLite catalog, loaded through a connection that is kept for a moment.

PyIceberg opens and closes a connection for each table that it loads, and builds its question anew:
for a small commit, which asks five times, that is much of its time. And the last connection to a
file in WAL mode copies the log into the file and deletes it: that takes ten times as long as a
commit, and fifty times as long as a question. So while a process asks again and again, one
connection stays.

Rules:
    - It is never inside a transaction, and may not write: it locks nobody out, sees the newest
      commit, and no commit that failed leaves anything in it.
    - It is let go soon after the last question, so that the file is whole again by itself.
    - It is asked only while the files are those that it has opened: a file that was replaced,
      written over, or lost its log to another process is opened anew.
    - None is open while a process forks: SQLite in the child would take the parent's locks for its
      own, and another process would delete the log that the child writes to.
    - A table that is not found, and every error, is left to PyIceberg, which tells what is wrong.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

_IDLE_SECONDS = 0.25
"""After the last question; tiny commits that follow one another ask every few milliseconds."""
_BUSY_SECONDS = 1

_Row = tuple[Any, ...]
_Identity = tuple[int, ...]


class KeptConnections:
    """One connection for each file that was asked just now; safe for threads and forks.

    Threads ask one after the other: an answer takes some 30 microseconds.
    """

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=lambda: self._lock.release(),
                after_in_child=self._begin,
            )

    def ask(self, database: Path, statement: str, values: Sequence[str]) -> list[_Row] | None:
        """Return the rows of a query; None: it could not be asked here.

        Args:
            database: the file, which is in WAL mode.
            statement: reads only.
            values: stand for its question marks.
        """
        with self._lock:
            kept = self._kept.get(database)
            if kept is not None and not kept.is_of_files():
                self._let_go(database)
                kept = None
            try:
                if kept is None:
                    kept = self._opened(database)
                rows = kept.connection.execute(statement, values).fetchall()
            except (sqlite3.Error, RuntimeError):
                # RuntimeError: the process is ending, or may have no more threads.
                self._let_go(database)
                return None
            kept.used_at = time.monotonic()
            return rows

    def close(self) -> None:
        """Let go of all."""
        with self._lock:
            self._let_go(*self._kept)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Path, _Kept] = {}
        self._is_watched = False

    def _opened(self, database: Path) -> _Kept:
        kept = self._kept[database] = _Kept(database)
        if not self._is_watched:
            threading.Thread(target=self._watch, name="arctic-catalog", daemon=True).start()
            self._is_watched = True
        return kept

    def _let_go(self, *databases: Path) -> None:
        for database in databases:
            kept = self._kept.pop(database, None)
            if kept is not None:
                kept.close()

    def _watch(self) -> None:
        """Let go of what nobody asks, until there is nothing."""
        while True:
            time.sleep(self._idle_seconds)
            idle_since = time.monotonic() - self._idle_seconds
            with self._lock:
                idle = [name for name, kept in self._kept.items() if kept.used_at <= idle_since]
                self._let_go(*idle)
                if not self._kept:
                    self._is_watched = False
                    return

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._let_go(*self._kept)


class _Kept:
    """A connection, and the files that it has opened."""

    def __init__(self, database: Path) -> None:
        """Open a file that is there; raises sqlite3.Error where it cannot be kept."""
        self.used_at = time.monotonic()
        self._database = str(database)
        before = _file(self._database)
        self.connection = sqlite3.connect(
            f"file:{quote(self._database)}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.connection.execute("pragma query_only=on")
            # The first question opens the log.
            self.connection.execute("select count(*) from sqlite_master").fetchone()
            self._files = (before, _log(self._database))
            if None in self._files or not self.is_of_files():
                raise sqlite3.OperationalError("its files came or went meanwhile")
        except sqlite3.Error:
            self.connection.close()
            raise

    def is_of_files(self) -> bool:
        """Say whether both files are as they were when they were opened."""
        return self._files == (_file(self._database), _log(self._database))

    def close(self) -> None:
        """Close the connection."""
        with suppress(sqlite3.Error):
            self.connection.close()


def _file(path: str) -> _Identity | None:
    """Return what changes when a file is replaced, or written to but through the log."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _log(database: str) -> _Identity | None:
    # SQLite makes it beside the file itself, not beside a link to it.
    try:
        found = os.stat(f"{os.path.realpath(database)}-wal")
    except OSError:
        return None
    return found.st_dev, found.st_ino


KEPT_CONNECTIONS = KeptConnections(_IDLE_SECONDS)
"""Of this process."""

atexit.register(KEPT_CONNECTIONS.close)


_WHERE = "catalog_name = ? and table_namespace = ? and table_name = ?"
_STATEMENT = (
    f"select table_namespace, table_name, metadata_location from iceberg_tables where {_WHERE}"
)
_NO_VIEWS = " and (iceberg_type = 'TABLE' or iceberg_type is null)"
_DATABASE = "_arctic_database"
"""Where a catalog that is asked so has its file."""
_PYICEBERGS = SqlCatalog.load_table


def load_quickly(catalog: SqlCatalog, database: Path) -> None:
    """Let a catalog load tables so.

    Args:
        catalog: of SQLite.
        database: its file, which is in WAL mode.
    """
    catalog.__dict__[_DATABASE] = database


def _load_table(catalog: SqlCatalog, identifier: str | Identifier) -> Table:
    """Take the place of PyIceberg's method, which is that of other catalogs still."""
    database = catalog.__dict__.get(_DATABASE)
    if database is None:
        return _PYICEBERGS(catalog, identifier)
    has_views = catalog._iceberg_type_filter() is not None
    statement = _STATEMENT + _NO_VIEWS if has_views else _STATEMENT
    namespace = Catalog.namespace_to_string(Catalog.namespace_from(identifier))
    values = (catalog.name, namespace, Catalog.table_name_from(identifier))
    rows = KEPT_CONNECTIONS.ask(database, statement, values)
    if not rows:
        return _PYICEBERGS(catalog, identifier)
    found_namespace, name, location = rows[0]
    return catalog._convert_orm_to_iceberg(
        IcebergTables(
            catalog_name=catalog.name,
            table_namespace=found_namespace,
            table_name=name,
            metadata_location=location,
            previous_metadata_location=None,
        )
    )


SqlCatalog.load_table = _load_table  # type: ignore[method-assign,assignment]
