"""SQLite catalogs under several processes: the connections that keep them right.

Rules:
    - WAL mode, so that a reader never blocks a COMMIT; local disks only, not NFS.
    - No connection pool: after a lock error at COMMIT a pooled connection stays inside its
      transaction, where this process alone sees a snapshot that was never committed.
    - Several processes may use a new file for the first time at once: the steps that create
      something are tried again.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.pool import NullPool

from arctic.errors import InvalidInputError
from arctic.redact import without_secrets

T = TypeVar("T")

_BUSY_TIMEOUT_SECONDS = 60
_TRIES = 20


def sqlite_uri(database: Path) -> str:
    """Return the URI of a database file; blanks and other characters are escaped."""
    return URL.create("sqlite", database=str(database)).render_as_string()


def database_of(uri: str | URL) -> Path:
    """Return the file of a SQLite URI.

    Raises:
        InvalidInputError: a database in memory, which would be forgotten after the call.
    """
    database = make_url(uri).database
    if not database or database == ":memory:":
        raise InvalidInputError(
            f"catalog.uri = {without_secrets(str(uri))!r}: a database in memory is forgotten "
            "after the call; name a file"
        )
    return Path(database)


def harden(catalog: SqlCatalog) -> None:
    """Replace the engine of a SQLite catalog; other databases stay as they are.

    Raises:
        InvalidInputError: a database in memory.
    """
    if catalog.engine.dialect.name != "sqlite":
        return
    url = catalog.engine.url
    database = database_of(url)
    catalog.engine.dispose()
    catalog.engine = create_engine(
        url, poolclass=NullPool, connect_args={"timeout": _BUSY_TIMEOUT_SECONDS}
    )
    first_use(lambda: _use_write_ahead_log(database))


def first_use(step: Callable[[], T]) -> T:
    """Run a step again while another process does the same at the same moment.

    Args:
        step: creates something that may exist already; must be safe to repeat.
    """
    left = _TRIES
    while True:
        try:
            return step()
        except (DatabaseError, sqlite3.OperationalError) as error:
            left -= 1
            if left == 0 or not _is_race(error):
                raise
        time.sleep(random.uniform(0.01, 0.1))


def _is_race(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, IntegrityError) or "already exists" in text or "locked" in text


def _use_write_ahead_log(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database, timeout=_BUSY_TIMEOUT_SECONDS)) as connection:
        if connection.execute("pragma journal_mode").fetchone() != ("wal",):
            connection.execute("pragma journal_mode=wal")
