"""Named errors on their way through Spark, which shows Python errors as tracebacks.

A worker prints the traceback of the error that ends it. With ``SPARK_HIDE_TRACEBACK`` set at that
moment it prints the error alone, and its message is the first line that a user sees. Where the
fault may lie elsewhere than in the call, the data or the table, the traceback follows as a note.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from arctic import errors
from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)

Function = TypeVar("Function", bound=Callable[..., Any])

_SELF_EXPLAINING = (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
_FIRST_LINE = re.compile(r"^(?:.*: )?arctic\.errors\.(\w+): (.*)$", re.MULTILINE)


def message_first(function: Function) -> Function:
    """Let the named errors of a function, or of a generator, begin with their message."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ArcticError as error:
            _surface(error)
            raise

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Iterator[Any]:
        try:
            yield from function(*args, **kwargs)
        except ArcticError as error:
            _surface(error)
            raise

    return cast(Function, generate if inspect.isgeneratorfunction(function) else call)


def named_error(text: str) -> ArcticError | None:
    """Return the named error that a worker's text begins with, if any.

    >>> named_error("[PYTHON_DATA_SOURCE_ERROR] Failed: arctic.errors.NotFoundError: table 'a.b'")
    NotFoundError("table 'a.b'")
    """
    match = _FIRST_LINE.search(text)
    kind = getattr(errors, match.group(1), None) if match else None
    if match is None or not (isinstance(kind, type) and issubclass(kind, ArcticError)):
        return None
    return kind(match.group(2))


def worker_text(error: ArcticError) -> str:
    """Return what a worker's text would say of an error, for ``named_error``.

    >>> worker_text(NotFoundError("table 'a.b'"))
    "arctic.errors.NotFoundError: table 'a.b'"
    """
    public = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return f"{errors.__name__}.{public.__name__}: {error.message}"


@contextmanager
def named_errors() -> Iterator[None]:
    """Let a named error of a worker leave this block as itself, not as one of Spark's."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        named = named_error(str(error))
        if named is None:
            raise
        raise named from error


def _surface(error: ArcticError) -> None:
    # Read when the worker has caught the error, after which it exits.
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
    if not isinstance(error, _SELF_EXPLAINING) and hasattr(error, "add_note"):
        error.add_note(traceback.format_exc())
