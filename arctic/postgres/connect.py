"""Connections to PostgreSQL: the one place that opens them.

Rules:
    - Every connection prints values in one form, which ``arctic.cdc`` reads: ISO dates, UTC, bytes
      in hexadecimal, floats with all their digits.
    - What libpq or the server say becomes an error of ours, with their own first line. Only what
      libpq says of a connection string is not repeated: it quotes the part that may be a password.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arctic.errors import InvalidInputError, StorageError, UnsupportedError
from arctic.redact import NOTHING_KNOWN, without_secrets

_FORMS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    # All digits on every version: before PostgreSQL 12 a lower number leaves some out.
    "extra_float_digits": "3",
    "client_encoding": "UTF8",
    # The plug-in warns of changes that it leaves out.
    "client_min_messages": "warning",
}


@contextmanager
def connect(dsn: str, *, replication: bool = False) -> Iterator[Any]:
    """Yield a connection that commits each statement by itself.

    Args:
        dsn: what libpq takes, ``postgresql://user@host/database`` or ``host=... dbname=...``.
        replication: one that speaks the replication protocol.

    Raises:
        UnsupportedError: psycopg is not installed.
        InvalidInputError: a text that libpq cannot read.
        StorageError: the server cannot be reached, or refuses.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra, which few processes need
    except ImportError as error:
        raise UnsupportedError(
            "PostgreSQL needs psycopg; install the extra, in a checkout: pip install '.[cdc]'"
        ) from error
    extra: dict[str, Any] = {"replication": "database"} if replication else {}
    _check_dsn(psycopg, dsn)
    with postgres_errors("connect to PostgreSQL"):
        connection = psycopg.connect(
            dsn, autocommit=True, application_name="arctic", prepare_threshold=None, **extra
        )
    try:
        if not replication:
            with postgres_errors("set up the connection"):
                for name, value in _FORMS.items():
                    connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        yield connection
    finally:
        connection.close()


@contextmanager
def postgres_errors(action: str) -> Iterator[None]:
    """Translate what psycopg raises while it carries out ``action``.

    Raises:
        StorageError: whatever the server or the connection said.
    """
    import psycopg  # noqa: PLC0415 - as in connect, which comes first

    try:
        yield
    except psycopg.Error as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        text = f"{action}: {without_secrets(line)}"
        raise StorageError(text) from NOTHING_KNOWN.cause(error)


def fetch(connection: Any, action: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a query and return all of its rows.

    Raises:
        StorageError: it failed; ``action`` says what was tried.
    """
    with postgres_errors(action):
        rows: list[tuple[Any, ...]] = connection.execute(query, values or None).fetchall()
    return rows


def _check_dsn(psycopg: Any, dsn: str) -> None:
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise InvalidInputError(
            "the connection string cannot be read; expected postgresql://user@host/database, with "
            "special characters as %XX, or host=... dbname=... with blanks in single quotes"
        ) from None
