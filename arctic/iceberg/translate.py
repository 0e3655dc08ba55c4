"""Foreign errors become ours here: catalogs fail in the words of six libraries.

Rules:
    - Every call to a catalog runs inside ``catalog_errors``.
    - A lost commit race is *not* translated: who commits knows whether it may try again. What a
      database says of one is told from its other failures.
    - What a library says is printed without secrets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import requests
from pydantic import ValidationError as ModelError
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    ForbiddenError,
    NoSuchPropertyException,
    NotInstalledError,
    RESTError,
    ValidationError,
)
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

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
_WITHOUT_ANSWER = (
    ("thrift.transport.TTransport", "TTransportException"),
    ("botocore.exceptions", "BotoCoreError"),
)
"""Those of them that say nothing of what was asked for."""


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


_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})
"""What AWS says of a call that is not allowed."""


def is_refused(error: ArcticError) -> bool:
    """Say whether a catalog has answered that it does not allow a call: others may go well.

    Args:
        error: as ``catalog_errors`` made it.
    """
    cause = error.__cause__
    answer = getattr(cause, "response", None)
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    return isinstance(cause, ForbiddenError) or code in _DENIED


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
    except _loaded(_OPTIONAL_ERRORS) as error:
        if _is_unknown_method(error):
            raise UnsupportedError(
                f"{action}: {secrets.hide(_first_line(error))}: Hive 4.0.1 and newer do not have "
                "what PyIceberg 0.12 calls; expected 2.3 to 4.0.0, or a REST catalog before it"
            ) from secrets.cause(error)
        raise _storage_error(action, error, secrets) from secrets.cause(error)


@contextmanager
def commit_errors(action: str) -> Iterator[None]:
    """Translate what a catalog raises while it carries out a commit that makes no snapshot.

    Raises:
        CommitStateUnknownError: the answer did not come; the commit may have landed.
        ArcticError: as ``catalog_errors``; it did not land.
    """
    try:
        with catalog_errors(action):
            yield
    except StorageError as error:
        if error.__context__ is None or not _lost_its_answer(error.__context__):
            raise
        raise CommitStateUnknownError(f"{error.message}; look whether it was done") from error


def _lost_its_answer(error: BaseException) -> bool:
    """Say whether what failed was asked for, and nobody heard what came of it.

    REST catalogs say so themselves. A database that refuses a statement has carried it out to no
    end, and a file that cannot be written is written before anybody is asked.
    """
    if isinstance(error, DBAPIError):
        has_ended = isinstance(error, OperationalError | InterfaceError)
        return (has_ended or error.connection_invalidated) and not was_rolled_back(error)
    if isinstance(error, requests.RequestException):
        return False
    told = getattr(error, "response", None)  # of AWS's client: what the service said
    if isinstance(told, dict):
        return int(told.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)) >= 500
    return isinstance(error, (ConnectionError, TimeoutError, *_loaded(_WITHOUT_ANSWER)))


def _storage_error(action: str, error: BaseException, secrets: Secrets) -> StorageError:
    return StorageError(f"{action}: {type(error).__name__}: {secrets.hide(_first_line(error))}")


def _is_unknown_method(error: Exception) -> bool:
    kind = getattr(sys.modules.get("thrift.Thrift"), "TApplicationException", None)
    return kind is not None and isinstance(error, kind) and error.type == kind.UNKNOWN_METHOD


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def _loaded(errors: Iterable[tuple[str, str]]) -> tuple[type[Exception], ...]:
    loaded = ((sys.modules.get(module), name) for module, name in errors)
    return tuple(getattr(module, name) for module, name in loaded if module is not None)
