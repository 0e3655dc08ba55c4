"""SQLite catalogs under several processes: the connections that keep them right.

Rules:
    - WAL mode, so that a reader never blocks a COMMIT; local disks only, not NFS. Every connection
      looks for it, since another program may have taken it away.
    - A connection opens a file and makes none: where the file of a catalog is gone, an empty one in
      its place would say that there are no tables.
    - No connection pool: after a lock error at COMMIT a pooled connection stays inside its
      transaction, where this process alone sees a snapshot that was never committed.
    - Several processes may use a new file for the first time at once: the steps that create
      something are tried again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.event import listen
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.pool import NullPool

from arctic.errors import FormatError, InvalidInputError, UnsupportedError
from arctic.iceberg.catalogs.in_database.quick_loads import load_quickly
from arctic.iceberg.catalogs.read_only import ReadOnlySqlCatalog
from arctic.redact import without_secrets
from arctic.retry import SMALL_RACES

T = TypeVar("T")

_BUSY_TIMEOUT_SECONDS = 60


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
    """Replace the engine of a SQLite catalog.

    Raises:
        InvalidInputError: a database in memory.
    """
    url = catalog.engine.url
    database = database_of(url)
    catalog.engine.dispose()
    catalog.engine = create_engine(
        url, poolclass=NullPool, connect_args={"timeout": _BUSY_TIMEOUT_SECONDS}
    )
    listen(catalog.engine, "do_connect", partial(_make_no_file, database))
    listen(catalog.engine, "handle_error", partial(_name_file, database))
    first_use(lambda: _begin_write_ahead_log(database))
    listen(catalog.engine, "connect", _keep_write_ahead_log)
    load_quickly(catalog, database)


def file_of(catalog: Catalog) -> str:
    """Return `` in 'file'`` for a SQLite catalog, for messages; empty for any other."""
    if isinstance(catalog, ReadOnlySqlCatalog):
        return f" in {str(catalog.database)!r}"
    if not isinstance(catalog, SqlCatalog) or catalog.engine.dialect.name != "sqlite":
        return ""
    return f" in {str(database_of(catalog.engine.url))!r}"


@contextlib.contextmanager
def location_errors(catalog: Catalog) -> Iterator[None]:
    """Have what is wrong with a table's location name the SQLite file in which it stands.

    Raises:
        FormatError: no file can have such a path.
        UnsupportedError: no file system is installed for its scheme.
    """
    where = file_of(catalog)
    try:
        yield
    except UnsupportedError as error:
        if not where:
            raise
        text = f"{error.message}; the table's metadata location stands{where}"
        raise UnsupportedError(text) from error
    except pa.ArrowInvalid as error:
        raise FormatError(f"the table's metadata location{where}: {error}") from error


def first_use(step: Callable[[], T]) -> T:
    """Run a step again while another process does the same at the same moment.

    Args:
        step: creates something that may exist already; must be safe to repeat.
    """
    return SMALL_RACES.run(step, on=(DatabaseError, sqlite3.OperationalError), if_=_is_race)


def _make_no_file(
    database: Path, _dialect: object, _record: object, given: list[Any], named: dict[str, Any]
) -> None:
    given[:], named["uri"] = [f"file:{quote(str(database))}?mode=rw"], True


def _name_file(database: Path, context: ExceptionContext) -> None:
    """Have SQLite's errors say which file they mean."""
    error = context.sqlalchemy_exception
    if error is not None and error.args:
        error.args = (f"{str(database)!r}: {error.args[0]}", *error.args[1:])


def _is_race(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, IntegrityError) or "already exists" in text or "locked" in text


def _begin_write_ahead_log(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database, timeout=_BUSY_TIMEOUT_SECONDS)) as connection:
        _use_write_ahead_log(connection)


def _keep_write_ahead_log(connection: sqlite3.Connection, _: object) -> None:
    try:
        _use_write_ahead_log(connection)
    except sqlite3.OperationalError as error:
        # Somebody is at work without the log: the next connection will see to it.
        if not _is_race(error):
            raise


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    if connection.execute("pragma journal_mode").fetchone() != ("wal",):
        connection.execute("pragma journal_mode=wal")
    # Some builds leave a commit in the log to the next power failure.
    connection.execute("pragma synchronous=full")
