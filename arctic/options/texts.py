"""Texts by their names, found in whatever case a name is written.

Must not know: which names there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
