"""Named errors on their way through Spark, which shows Python errors as tracebacks.

Spark's workers print a chain of errors with the first cause first, and a cause that was never
raised has no traceback of its own. So the chain of a named error is made to begin with a copy of
it: its message is the first line that a user sees, and the tracebacks follow for who needs them.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from arctic import errors
from arctic.errors import ArcticError

Function = TypeVar("Function", bound=Callable[..., Any])

_FIRST_LINE = re.compile(r"^(?:.*: )?arctic\.errors\.(\w+): (.*)$", re.MULTILINE)


def message_first(function: Function) -> Function:
    """Let the named errors of a function, or of a generator, begin with their message."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ArcticError as error:
            _put_first(error)
            raise

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Iterator[Any]:
        try:
            yield from function(*args, **kwargs)
        except ArcticError as error:
            _put_first(error)
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


def _put_first(error: ArcticError) -> None:
    first: BaseException = error
    while True:
        cause = first.__cause__ or (None if first.__suppress_context__ else first.__context__)
        if cause is None:
            break
        first = cause
    first.__cause__ = type(error)(*error.args)
