"""What databases say of a transaction that they took back, in the words of their drivers."""

from __future__ import annotations

from types import SimpleNamespace

import botocore.exceptions
import pytest
import requests
from pyiceberg.exceptions import ForbiddenError
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from thrift.Thrift import TException
from thrift.transport.TTransport import TTransportException

from arctic.errors import ArcticError, CommitStateUnknownError, StorageError
from arctic.iceberg.translate import commit_errors, was_rolled_back


@pytest.mark.parametrize(
    ("said", "is_rolled_back"),
    [
        ({"S": "ERROR", "C": "40P01", "M": "deadlock detected"}, True),
        ({"S": "FATAL", "C": "57P01", "M": "terminating connection"}, False),
        ({}, False),
        (1213, True),
        (2013, False),
        (["40001"], False),
    ],
)
def test_the_first_argument_of_a_drivers_error(said: object, is_rolled_back: bool) -> None:
    """A dict of fields is what one of PostgreSQL's drivers says; it may be anything at all."""
    assert was_rolled_back(DBAPIError("COMMIT", {}, Exception(said))) is is_rolled_back


def _of_aws(status: int) -> BaseException:
    told = {"Error": {"Code": "X"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    refused: BaseException = botocore.exceptions.ClientError(told, "UpdateTable")
    return refused


def _of_database(kind: type[DBAPIError], **said: str) -> DBAPIError:
    return kind("COMMIT", {}, SimpleNamespace(args=("gone",), **said))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failed", "is_unknown"),
    [
        (_of_database(OperationalError), True),
        (_of_database(OperationalError, sqlstate="40P01"), False),
        (_of_database(ProgrammingError), False),
        (_of_aws(500), True),
        (_of_aws(403), False),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="x"), True),
        (TTransportException(message="reset"), True),
        (TException("put request failed"), False),
        (ConnectionResetError("reset"), True),
        (OSError("no space left on device"), False),
        (requests.ConnectionError("refused"), False),
        (ForbiddenError("no"), False),
    ],
)
def test_an_answer_to_a_commit_that_did_not_come(failed: BaseException, is_unknown: bool) -> None:
    """What says that it failed, or was never sent, may be tried again."""
    with pytest.raises(ArcticError) as caught, commit_errors("set properties"):
        raise failed

    assert type(caught.value) is (CommitStateUnknownError if is_unknown else StorageError)
