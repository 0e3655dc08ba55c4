"""How a named error looks when Spark has printed it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest
from pyspark.util import handle_worker_exception

from arctic.errors import ArcticError, ConflictError, InternalError, NotFoundError, StorageError
from arctic.spark.base.error_surface import message_first, named_error


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Surfacing changes the environment of a worker, which is about to exit."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


def _shown(error: BaseException) -> str:
    """What a worker sends to the JVM."""
    outfile = io.BytesIO()
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 - as the worker does
        handle_worker_exception(raised, outfile)
    return outfile.getvalue()[8:].decode()


@message_first
def _fails() -> None:
    raise NotFoundError("table 'ns.t' does not exist")


@message_first
def _yields_and_fails() -> Iterator[int]:
    yield 1
    raise StorageError("file 'a': gone")


def test_the_message_is_all_that_is_shown_of_a_wrong_call() -> None:
    """The user can mend it, and needs no traceback for that."""
    with pytest.raises(NotFoundError) as caught:
        _fails()

    assert _shown(caught.value) == "arctic.errors.NotFoundError: table 'ns.t' does not exist\n"


def test_a_generator_is_surfaced_too() -> None:
    """Readers fail while they yield."""
    rows = _yields_and_fails()

    assert next(rows) == 1
    with pytest.raises(StorageError) as caught:
        next(rows)
    assert _shown(caught.value).startswith("arctic.errors.StorageError: file 'a': gone\n")


def test_the_traceback_follows_where_more_may_be_at_fault() -> None:
    """A storage error may be anybody's."""
    with pytest.raises(StorageError) as caught:
        list(_yields_and_fails())

    # Python 3.10 has no notes on errors.
    assert ("in _yields_and_fails" in _shown(caught.value)) is (sys.version_info >= (3, 11))


@pytest.mark.parametrize("kind", [NotFoundError, ConflictError, StorageError, InternalError])
def test_a_named_error_is_found_in_what_spark_says(kind: type[ArcticError]) -> None:
    """Class and message come back, so that a caller can tell a conflict from a typo."""
    text = (
        f"[PYTHON] Job failed: \n  at x.y(Z.java:1)\narctic.errors.{kind.__name__}: a: b\nTraceback"
    )
    error = named_error(text)

    assert type(error) is kind
    assert str(error) == "a: b"


def test_other_errors_are_not_taken_for_ours() -> None:
    """Neither Python's own nor a name that is no error of ours."""
    assert named_error("ValueError: x") is None
    assert named_error("arctic.errors.Callable: x") is None
