"""SQLite catalogs that this process may read but not write.

A database in WAL mode needs files beside it even for reading. A process that may not create them
reads through those of a writer that is at work; if there is no writer, it reads a copy in memory.

Rules:
    - Nothing is made beside the database: a file of ours there would lock its owner out.
    - The copy is taken anew for each question, and only if nothing was written meanwhile.
    - What SQLite makes lies beside the file itself, not beside a link to it.
    - Whatever would change the catalog is refused before a file is written.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from arctic.errors import StorageError
from arctic.retry import RetryPolicy

_PATIENCE = RetryPolicy(retries=49, min_wait_ms=100, max_wait_ms=100)
_BUSY_TIMEOUT_SECONDS = 60
_TICK_NS = 20_000_000
"""In less than that, two writes may leave the same time behind."""


def may_only_read(database: Path) -> bool:
    """Say whether a database is there that this process cannot write."""
    file = _file(database)
    if not file.exists():
        return False
    return not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def check_writable(catalog: Catalog) -> None:
    """Refuse to begin a change where the catalog can only be read.

    Raises:
        StorageError: with the remedy.
    """
    if isinstance(catalog, ReadOnlySqlCatalog):
        catalog.refuse()


class ReadOnlySqlCatalog(SqlCatalog):
    """A SQLite catalog of somebody else."""

    database: Path

    def __init__(self, name: str, *, database: Path, **properties: str) -> None:
        self.database = _file(database)
        super().__init__(name, **{**properties, "init_catalog_tables": "false"})

    def _init_catalog(self) -> None:
        self.engine.dispose()
        self.engine = create_engine("sqlite://", poolclass=NullPool, creator=self._connect)
        super()._init_catalog()

    def _connect(self) -> sqlite3.Connection:
        if not os.access(self.database, os.R_OK):
            raise StorageError(
                f"no permission to read {str(self.database)!r}; ask its owner for read permission"
            )
        for _ in _PATIENCE.tries():
            connection = _shared(self.database) or _copied(self.database)
            if connection is not None:
                return connection
        raise StorageError(
            f"catalog {str(self.database)!r} holds changes of a writer that this process has no "
            "permission to look at; ask its owner for read permission on the files beside it, or "
            "for write permission on the file and its folder"
        )

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse any call that would change the catalog."""
        raise StorageError(
            f"no permission to write {str(self.database)!r}, so its tables can only be read; ask "
            "its owner for write permission on the file and its folder"
        )

    commit_table = refuse
    create_table = refuse
    register_table = refuse
    drop_table = refuse
    rename_table = refuse
    create_namespace = refuse
    drop_namespace = refuse
    update_namespace_properties = refuse


def _file(database: Path) -> Path:
    return Path(os.path.realpath(database))


def _shared(database: Path) -> sqlite3.Connection | None:
    """Open a database beside its writer; None: it has none, so it would make files of its own."""
    if not all(Path(f"{database}{suffix}").exists() for suffix in ("-wal", "-shm")):
        return None
    try:
        return _opened(database, "mode=ro&readonly_shm=1")
    except sqlite3.OperationalError:
        return None


def _copied(database: Path) -> sqlite3.Connection | None:
    """Copy a database into memory; None: somebody writes to it."""
    before = _state(database)
    if before is None:
        return None
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        with closing(_opened(database, "mode=ro&immutable=1")) as source:
            source.backup(copy)
    except sqlite3.DatabaseError:
        copy.close()
        if _state(database) == before:
            raise
        return None
    if _state(database) != before:
        copy.close()
        return None
    copy.execute("pragma query_only=on")
    return copy


def _opened(database: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(database))}?{how}",
        uri=True,
        timeout=_BUSY_TIMEOUT_SECONDS,
        check_same_thread=False,
    )
    try:
        connection.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _state(database: Path) -> tuple[int, ...] | None:
    """Return what changes with every write; None where one lies beside it, or was just now."""
    for suffix in ("-wal", "-journal"):
        beside = Path(f"{database}{suffix}")
        if beside.exists() and beside.stat().st_size:
            return None
    found = database.stat()
    if 0 <= time.time_ns() - found.st_ctime_ns < _TICK_NS:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
