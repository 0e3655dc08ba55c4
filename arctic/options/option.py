"""One option: wire name, type, default, one sentence.

Rules:
    - Names are compared without case, because Spark lowers them.
    - A value in the call wins over the table property, which wins over the default.

Must not know: which names there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from arctic.errors import InvalidInputError

T = TypeVar("T")


class Texts(dict[str, str]):
    """What a call was given, or what a table's properties say; not changed once it is made.

    Settings are read one by one, some twenty of one mapping: its names are lowered once.
    """

    __slots__ = ("_spelt",)

    def __init__(self, given: Mapping[str, str]) -> None:
        """Take over names and texts as they are."""
        super().__init__(given)
        self._spelt = {name.lower(): name for name in self}

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Texts:
        """Return a mapping as texts, itself where it is that already."""
        return given if isinstance(given, Texts) else cls(given)

    def spelt(self, name: str) -> str | None:
        """Return a name as it was given; None: it was not. Of two that differ in case, the last."""
        return self._spelt.get(name.lower())

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is made again."""
        return Texts, (dict(self),)


class Scope(Enum):
    """Where an option may be given."""

    CATALOG = "catalog"
    READ = "read"
    CHANGES = "changes"
    STREAM = "stream"
    WRITE = "write"
    OPTIMIZE = "optimize"
    EXPIRE = "expire"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[T]):
    """One setting."""

    name: str
    parse: Callable[[str], T]
    """Turns the text into a value, or raises ValueError with what was expected."""
    default: T
    scopes: frozenset[Scope]
    doc: str
    aliases: tuple[str, ...] = ()
    """Other names that mean the same, for example Iceberg's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    def value(self, options: Mapping[str, str], properties: Mapping[str, str] | None = None) -> T:
        """Return the setting in force.

        Args:
            options: what the call gave.
            properties: the table's properties; only read when the option is also a property.

        Raises:
            InvalidInputError: a text that is not a value of this option.
        """
        sources = [("option", options)]
        if Scope.TABLE in self.scopes and properties is not None:
            sources.append(("table property", properties))
        for where, mapping in sources:
            given = Texts.of(mapping)
            for name in self.names:
                spelt = given.spelt(name)
                if spelt is not None:
                    return self._parsed(where, spelt, given[spelt])
        return self.default

    def is_given(self, properties: Mapping[str, str]) -> bool:
        """Say whether a table's properties have it, whatever its value."""
        given = Texts.of(properties)
        return any(given.spelt(name) is not None for name in self.names)

    def _parsed(self, where: str, name: str, text: str) -> T:
        try:
            return self.parse(str(text))
        except ValueError as error:
            raise InvalidInputError(f"{where} {name} = {text!r}: {error}") from error
