"""The tables that are to be published: one at a time, each as often as it is found changed."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.service.scheduling.lane import Lane

Places = tuple[str, ...]
"""Of the metadata of a table, which are others after every commit."""


@dataclass(slots=True)
class PublishQueue:
    """What was published last of each table, and which wait, in the order of being found."""

    _waiting: dict[str, Places] = field(default_factory=dict)
    _shown: dict[str, Places] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _lane: Lane = field(default_factory=Lane)

    def begin_look(self) -> None:
        """Let tables wait again where publishing failed: all of them are looked at now."""
        for name in self._failed:
            self._shown.pop(name, None)
        self._failed.clear()

    def looked(self, name: str, places: Places, *, is_wished: bool) -> None:
        """Take note of a table as it is now."""
        if not is_wished:
            self.forget(name)
        elif self._shown.get(name) != places:
            self._waiting[name] = places

    def forget(self, name: str) -> None:
        """Drop a table."""
        self._waiting.pop(name, None)
        self._shown.pop(name, None)
        self._failed.discard(name)

    def begin(self, busy: Container[str], now_ms: int) -> str | None:
        """Return the table that is to be published now, which is taken to have begun."""
        name = next((each for each in self._waiting if each not in busy), None)
        if name is None or not self._lane.is_free(now_ms):
            return None
        self._lane.begin(name, now_ms)
        self._shown[name] = self._waiting.pop(name)
        return name

    def ended(self, name: str, *, is_good: bool) -> None:
        """Take note that it is over."""
        self._lane.end(name)
        if not is_good:
            self._failed.add(name)
