"""The tables that are to be published: one at a time, each as often as it is found changed.

Rules:
    - They come in the order of being found. One that failed comes after those that wait by then,
      once it was left alone for a while.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.service.scheduling.lane import Lane
from arctic.service.scheduling.tries import Failures

Places = tuple[str, ...]
"""Of the metadata of a table, which are others after every commit."""


@dataclass(slots=True)
class PublishQueue:
    """What was published last of each table, and which wait."""

    _waiting: dict[str, Places] = field(default_factory=dict)
    _shown: dict[str, Places] = field(default_factory=dict)
    _failures: Failures = field(default_factory=Failures)
    _lane: Lane = field(default_factory=Lane)

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
        self._failures.forget(name)

    def forgive(self, since_ms: int) -> None:
        """Let tables be tried at once that failed since a time by no fault of their own."""
        self._failures.forgive(since_ms)

    def begin(self, busy: Container[str], now_ms: int) -> str | None:
        """Return the table that is to be published now, which is taken to have begun."""
        if not self._lane.is_free(now_ms):
            return None
        free = (name for name in self._waiting if name not in busy)
        name = next((each for each in free if self._failures.may_begin(each, now_ms)), None)
        if name is None:
            return None
        self._lane.begin(name, now_ms)
        self._shown[name] = self._waiting.pop(name)
        return name

    def ended(self, name: str, now_ms: int, *, is_good: bool) -> None:
        """Take note that it is over."""
        self._lane.end(name)
        if name not in self._shown:
            return  # It was dropped, or is wished no more.
        self._failures.ended(name, now_ms, is_good=is_good)
        if not is_good:
            self._waiting.setdefault(name, self._shown.pop(name))
