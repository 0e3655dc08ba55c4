"""The one place that runs DuckDB: whole columns of JSON and text become typed Arrow columns.

Rules:
    - A connection lives for one piece of work, in memory, and reaches neither disk nor network.
    - Times are UTC, whatever this machine believes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arctic.errors import UnsupportedError

_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "preserve_insertion_order": True,
}


@contextmanager
def engine() -> Iterator[Any]:
    """Yield a connection.

    Raises:
        UnsupportedError: DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415 - an extra, which few processes need
    except ImportError as error:
        raise UnsupportedError(
            "change events need DuckDB; install the extra, in a checkout: pip install '.[cdc]'"
        ) from error
    connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def text(value: str) -> str:
    """Return a value as an SQL literal.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """Return a name as SQL quotes it.

    >>> name('a"b')
    '"a""b"'
    """
    return '"' + value.replace('"', '""') + '"'
