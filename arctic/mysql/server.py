"""Connections to MySQL and MariaDB: the one place that opens them.

Rules:
    - Every session prints values in one form, which ``arctic.cdc`` reads: UTC, UTF-8.
    - What the client or the server say becomes an error of ours, without what may be a password.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from arctic.errors import ConflictError, InvalidInputError, StorageError, UnsupportedError
from arctic.redact import NOTHING_KNOWN, without_secrets
from arctic.retry import RetryPolicy

_SETTINGS = (
    "SET SESSION time_zone = '+00:00', sql_mode = '', group_concat_max_len = 1073741824, "
    "lock_wait_timeout = 30",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
_CONNECT_SECONDS = 30
_PATIENCE = RetryPolicy(retries=1_000, min_wait_ms=100, max_wait_ms=100, total_ms=3_000)
_SCHEMES = ("mysql", "mariadb")
_PORT = 3306


def server_of(dsn: str) -> dict[str, Any]:
    """Return what PyMySQL is told to reach ``mysql://user:password@host:port/database``.

    ``?unix_socket=/path`` names a socket, ``?ssl_ca=/path`` a certificate.

    >>> server_of("mysql://me@db/shop")["database"]
    'shop'

    Raises:
        InvalidInputError: a text of another form.
    """
    try:
        parts = urlsplit(dsn)
        port = parts.port or _PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise InvalidInputError(
            "the address of the server cannot be read; expected mysql://user@host:port/database, "
            "with special characters as %XX"
        )
    query = dict(parse_qsl(parts.query))
    unknown = sorted(query.keys() - {"unix_socket", "ssl_ca"})
    if unknown:
        raise InvalidInputError(
            f"address of the server: unknown {', '.join(unknown)}; expected unix_socket or ssl_ca"
        )
    return {
        "host": parts.hostname or "localhost",
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.lstrip("/")) or None,
        "charset": "utf8mb4",
        "connect_timeout": _CONNECT_SECONDS,
        # Nobody listens at a socket, and a context of TLS takes longer to make than a connection.
        "ssl_disabled": "unix_socket" in query,
        **query,
    }


@contextmanager
def connected(server: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a session that commits each statement by itself.

    Raises:
        UnsupportedError: PyMySQL is not installed.
        StorageError: the server cannot be reached, or refuses.
    """
    try:
        import pymysql  # noqa: PLC0415 - an extra, which few processes need
    except ImportError as error:
        raise UnsupportedError(
            "MySQL needs PyMySQL; install the extra, in a checkout: pip install '.[mysql]'"
        ) from error
    with mysql_errors("connect to MySQL"):
        connection = pymysql.connect(**server, autocommit=True)
    try:
        for setting in _SETTINGS:
            fetched(connection, "set up the connection", setting)
        yield connection
    finally:
        connection.close()


@contextmanager
def mysql_errors(action: str) -> Iterator[None]:
    """Translate what PyMySQL raises while it carries out ``action``.

    Raises:
        StorageError: whatever the server or the connection said.
    """
    import pymysql  # noqa: PLC0415 - as in connected, which comes first

    try:
        yield
    except (pymysql.Error, OSError) as error:
        said = error.args[-1] if error.args else type(error).__name__
        text = f"{action}: {without_secrets(str(said))}"
        raise StorageError(text) from NOTHING_KNOWN.cause(error)


def fetched(connection: Any, action: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement and return all of its rows.

    Raises:
        StorageError: it failed; ``action`` says what was tried.
    """
    with mysql_errors(action), connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall() or ())


@contextmanager
def sole_user(connection: Any, name: str) -> Iterator[None]:
    """Keep other mirrors of a name away for as long as this session lasts.

    The server notices a mirror's death a moment later than whoever starts the next one, so the
    name is asked for again for some seconds.

    Raises:
        ConflictError: another one is at work.
    """
    for _ in _PATIENCE.tries():
        if fetched(connection, f"lock {name}", "SELECT GET_LOCK(%s, 0)", f"arctic.{name}")[0][0]:
            break
    else:
        raise ConflictError(f"slot {name!r} is being mirrored by another process; stop one of them")
    yield


def quoted(name: str) -> str:
    """Return a name as the server quotes it.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"
