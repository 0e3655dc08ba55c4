"""Foreign errors become ours here: catalogs fail in the words of six libraries.

Rules:
    - Every call to a catalog runs inside ``catalog_errors``.
    - A lost commit race is *not* translated: who commits knows whether it may try again. What a
      database says of one is told from its other failures.
    - What a library says is printed without secrets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from pydantic import ValidationError as ModelError
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    NoSuchPropertyException,
    NotInstalledError,
    RESTError,
    ValidationError,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    FormatError,
    StorageError,
    UnsupportedError,
)
from arctic.redact import NOTHING_KNOWN, Secrets

_OPTIONAL_ERRORS = (
    ("thrift.Thrift", "TException"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
)
"""Clients that are extras: their errors can only occur once they have been imported."""


_ROLLED_BACK = frozenset(
    {
        "40001",  # a transaction that is not serializable with others
        "40P01",  # PostgreSQL: a deadlock
        "55P03",  # PostgreSQL: a lock that is not available, in time or at once
        1020,  # MariaDB: a row that has changed since it was read
        1205,  # MySQL: a lock that was not to be had in time
        1213,  # MySQL: a deadlock
        3572,  # MySQL: a lock that is not available at once
    }
)
"""SQLSTATEs, and numbers of MySQL's family: the statement failed before there was a COMMIT."""


def was_rolled_back(error: BaseException) -> bool:
    """Say whether a database took a transaction back because of another one.

    PostgreSQL's drivers say a SQLSTATE in one of two attributes, or as field C of a dict that comes
    first; those of MySQL say a number first.
    """
    if not isinstance(error, DBAPIError) or error.orig is None:
        return False
    said = [getattr(error.orig, name, None) for name in ("sqlstate", "pgcode", "errno")]
    first = next(iter(error.orig.args), None)
    said.append(first.get("C") if isinstance(first, dict) else first)
    return any(isinstance(each, str | int) and each in _ROLLED_BACK for each in said)


@contextmanager
def catalog_errors(action: str, secrets: Secrets = NOTHING_KNOWN) -> Iterator[None]:
    """Translate what a catalog raises while it carries out ``action``.

    Args:
        action: what was tried, as the subject of the message: ``load table 'db.users'``.
        secrets: what the catalog was given and may quote.

    Raises:
        UnsupportedError: a client library is not installed.
        FormatError: table metadata that cannot be parsed.
        CommitStateUnknownError: a REST catalog failed while it committed.
        StorageError: the catalog cannot be reached, refuses us or failed inside.
    """
    try:
        yield
    except ArcticError:
        raise
    except CommitStateUnknownException as error:
        text = f"{action}: {secrets.hide(_first_line(error))}"
        raise CommitStateUnknownError(text) from secrets.cause(error)
    except (NotInstalledError, ImportError) as error:
        raise UnsupportedError(f"{action}: {secrets.hide(str(error))}") from secrets.cause(error)
    except (ModelError, ValidationError, UnicodeDecodeError, NoSuchPropertyException) as error:
        text = f"{action}: its metadata cannot be parsed: {secrets.hide(str(error))}"
        raise FormatError(text) from secrets.cause(error)
    except (OSError, SQLAlchemyError, requests.RequestException, RESTError) as error:
        raise _storage_error(action, error, secrets) from secrets.cause(error)
    except _optional_errors() as error:
        if _is_unknown_method(error):
            raise UnsupportedError(
                f"{action}: {secrets.hide(_first_line(error))}: Hive 4.0.1 and newer do not have "
                "what PyIceberg 0.12 calls; expected 2.3 to 4.0.0, or a REST catalog before it"
            ) from secrets.cause(error)
        raise _storage_error(action, error, secrets) from secrets.cause(error)


def _storage_error(action: str, error: BaseException, secrets: Secrets) -> StorageError:
    return StorageError(f"{action}: {type(error).__name__}: {secrets.hide(_first_line(error))}")


def _is_unknown_method(error: Exception) -> bool:
    kind = getattr(sys.modules.get("thrift.Thrift"), "TApplicationException", None)
    return kind is not None and isinstance(error, kind) and error.type == kind.UNKNOWN_METHOD


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def _optional_errors() -> tuple[type[Exception], ...]:
    loaded = ((sys.modules.get(module), name) for module, name in _OPTIONAL_ERRORS)
    return tuple(getattr(module, name) for module, name in loaded if module is not None)
