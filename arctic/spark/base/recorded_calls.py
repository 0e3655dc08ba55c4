"""What was said to one of Spark's builders, recorded so that it is known when the builder ends.

A builder of Spark (``df.write``, ``df.writeStream``, ``spark.read``) hands what it is told to the
JVM and forgets it. Its class is patched once: format and options are recorded here for all of
them, and whoever patches says what else matters and what happens at the end.

Must not know: formats, modes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

_ASKED = "_arctic_asked"
"""The attribute of a builder that holds what was said to it."""
_INSTALLED = "_arctic_recorded"
"""The attribute of a class that was patched."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """What was said to one builder so far."""

    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """As a data source gets them: names in lower case."""
    names: list[str] = field(default_factory=list)
    """Of the options, as the user spelt them."""
    partition_by: tuple[Any, ...] = ()
    """Columns as they were given."""
    is_native: bool = False
    """Inside a call that belongs to Spark alone."""

    def is_of(self, own: str, source: str | None = None) -> bool:
        """Say whether the builder is for a format of ours; ``source`` is what its end was told."""
        chosen = source or self.format
        return isinstance(chosen, str) and chosen.lower() == own


A = TypeVar("A", bound=Asked)


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """One call of a builder's method, on its way to Spark."""

    name: str
    """Of the method."""
    builder: Any
    asked: A
    _originals: Mapping[str, Callable[..., Any]]

    def native(self, *args: Any, **kwargs: Any) -> Any:
        """Do what Spark does; what Spark itself says to the builder meanwhile is recorded too."""
        return self.spark(self.name, *args, **kwargs)

    def spark(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Do what Spark does in another patched method of the builder; nothing is recorded of it.

        What that method calls in turn is recorded, unless it is done ``alone``.
        """
        return self._originals[name](self.builder, *args, **kwargs)

    def alone(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """As ``spark``, and every method that Spark calls in turn is its own too."""
        self.asked.is_native = True
        try:
            return self.spark(name, *args, **kwargs)
        finally:
            self.asked.is_native = False


Ours = Callable[..., Any]
"""Takes the ``Call``, then the arguments of the method."""


def record_calls(
    builder_class: type,
    begin: Callable[[], A],
    ours: Mapping[str, Ours],
    *,
    more: Iterable[str] = (),
) -> None:
    """Have the methods of a builder's class recorded or answered by ours; again is harmless.

    Args:
        builder_class: classic or Connect.
        begin: makes the record of a builder to which nothing was said.
        ours: what answers a method, by its name. ``format``, ``option`` and ``options`` need none,
            and may be missing.
        more: methods that stay as they are, for ``Call.spark``.
    """
    if _INSTALLED in vars(builder_class):
        return
    known: dict[str, Ours] = {"format": _format, "option": _option, "options": _options}
    there = {name: answer for name, answer in known.items() if hasattr(builder_class, name)}
    answered = {**there, **ours}
    originals = {name: getattr(builder_class, name) for name in (*answered, *more)}
    setattr(builder_class, _INSTALLED, True)
    for name, answer in answered.items():
        setattr(builder_class, name, _patched(name, answer, begin, originals))


def leave_alone(builder: Any, asked: Asked) -> None:
    """Let a builder whose class is recorded be Spark's own until it is forgotten."""
    asked.is_native = True
    builder.__dict__[_ASKED] = asked


def _patched(
    name: str, answer: Ours, begin: Callable[[], A], originals: Mapping[str, Callable[..., Any]]
) -> Callable[..., Any]:
    original = originals[name]

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked = self.__dict__.setdefault(_ASKED, begin())
        if asked.is_native:
            return original(self, *args, **kwargs)
        return answer(Call(name, self, asked, originals), *args, **kwargs)

    return call


def _format(call: Call[Asked], source: Any) -> Any:
    call.asked.format = source
    return call.native(source)


def _option(call: Call[Asked], key: Any, value: Any) -> Any:
    _note(call.asked, {key: value})
    return call.native(key, value)


def _options(call: Call[Asked], /, **options: Any) -> Any:
    _note(call.asked, options)
    # Some of Spark's builders make this a call of option() for each.
    return call.alone("options", **options)


def _note(asked: Asked, options: Mapping[str, Any]) -> None:
    asked.options |= texts_of(options)
    asked.names += given_names(options)


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
