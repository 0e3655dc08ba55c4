"""The tables that are to be cleaned: one at a time."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.service.watching.wishes import CleaningStep, Wishes


@dataclass(slots=True, kw_only=True)
class CleaningQueue:
    """What is to be cleaned, in the order in which it was found."""

    every_ms: int
    """Between two cleanings of a table, and between two tries where one failed."""
    _waiting: dict[str, CleaningStep] = field(default_factory=dict)
    _now: str | None = None
    _tried_ms: dict[str, int] = field(default_factory=dict)
    """When a cleaning was last begun, of tables where it failed."""

    @property
    def now(self) -> str | None:
        """The table that is being cleaned."""
        return self._now

    def looked(self, name: str, wishes: Wishes, now_ms: int) -> None:
        """Take note of what a table asks for."""
        step = wishes.cleaning(now_ms, every_ms=self.every_ms)
        tried_ms = self._tried_ms.get(name)
        if step is None or (tried_ms is not None and now_ms - tried_ms < self.every_ms):
            self._waiting.pop(name, None)
        else:
            self._waiting[name] = step

    def forget(self, name: str) -> None:
        """Drop a table."""
        self._waiting.pop(name, None)
        self._tried_ms.pop(name, None)

    def begin(self, busy: Container[str], now_ms: int) -> tuple[str, CleaningStep] | None:
        """Return the table that is to be cleaned now, which is taken to have begun."""
        name = next((each for each in self._waiting if each not in busy), None)
        if self._now is not None or name is None:
            return None
        self._now, self._tried_ms[name] = name, now_ms
        return name, self._waiting.pop(name)

    def ended(self, name: str, *, is_done: bool) -> None:
        """Take note that the cleaning of a table is over."""
        self._now = None
        if is_done:
            self._tried_ms.pop(name, None)
