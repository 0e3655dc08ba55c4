"""Calls of Spark's builders, patched so that what was said to one is known when it ends.

Must not know: formats, modes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

ASKED = "_arctic_asked"
"""The attribute of a builder that holds what was said to it."""


class Asked(Protocol):
    """What was said to one builder so far."""

    is_native: bool
    """Inside a call that belongs to Spark alone."""


def patch_call(
    owner: type,
    name: str,
    original: Callable[..., Any],
    ours: Callable[..., Any],
    begin: Callable[[], Asked],
) -> None:
    """Have a method of a builder answered by a function of ours.

    Args:
        owner: the builder's class.
        name: of the method.
        original: the method as Spark has it.
        ours: takes the bound original, the builder, what was said to it, and the arguments.
        begin: makes the record of a builder that nothing was said to.
    """

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = self.__dict__.setdefault(ASKED, begin())
        if asked.is_native:
            return original(self, *args, **kwargs)
        return ours(functools.partial(original, self), self, asked, *args, **kwargs)

    setattr(owner, name, call)


def names_of(*columns: Any) -> tuple[str, ...]:
    """Return columns that are given one by one or as a list.

    >>> names_of("a", "b"), names_of(["a", "b"])
    (('a', 'b'), ('a', 'b'))
    """
    if len(columns) == 1 and isinstance(columns[0], list | tuple):
        columns = tuple(columns[0])
    return tuple(str(column) for column in columns)


def given_names(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the options that have a value, as they are spelt.

    >>> given_names({"A": True, "c": None})
    ['A']
    """
    return [name for name, value in options.items() if value is not None]


def texts_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as a data source gets them.

    >>> texts_of({"A": True, "b": 1, "c": None})
    {'a': 'true', 'b': '1'}
    """
    return {
        name.lower(): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if value is not None
    }
