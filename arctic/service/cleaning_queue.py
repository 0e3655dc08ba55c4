"""The tables that are to be cleaned: one at a time."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.errors import ConflictError
from arctic.service.scheduling.lane import Lane
from arctic.service.scheduling.tries import Wait
from arctic.service.watching.wishes import CleaningStep, Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """One cleaning that begins."""

    table: str
    step: CleaningStep
    process_id: int | None = None
    """That a call was told; None: it is due by itself."""


@dataclass(slots=True, kw_only=True)
class CleaningQueue:
    """What is to be cleaned: what calls asked for, then the rest in the order of being found."""

    every_ms: int
    """Between two cleanings of a table, and between two tries where one failed."""
    _waiting: dict[str, CleaningStep] = field(default_factory=dict)
    _asked: dict[str, int] = field(default_factory=dict)
    """Table -> the process that a call was told."""
    _lane: Lane = field(default_factory=Lane)
    _left: dict[str, Wait] = field(default_factory=dict)
    """Tables that are left alone since a cleaning was begun, for as long as none was done."""

    def looked(self, name: str, wishes: Wishes, now_ms: int) -> None:
        """Take note of what a table asks for."""
        step, wait = wishes.cleaning(now_ms, every_ms=self.every_ms), self._left.get(name)
        if step is None or (wait is not None and not wait.is_over(now_ms)):
            self._waiting.pop(name, None)
        else:
            self._waiting[name] = step

    def check(self, name: str) -> None:
        """Refuse a second cleaning of a table.

        Raises:
            ConflictError: one waits already that a call asked for.
        """
        if name in self._asked:
            raise ConflictError(
                f"table {name!r}: cleaning {self._asked[name]} waits to be begun; cancel it, or "
                "ask again when it has ended"
            )

    def ask(self, name: str, process_id: int) -> None:
        """Let a cleaning wait, whatever the table says of being cleaned by itself."""
        self._asked[name] = process_id

    def drop(self, name: str) -> int | None:
        """Take a cleaning away that a call asked for; return its process, None: there is none."""
        return self._asked.pop(name, None)

    def forget(self, name: str) -> int | None:
        """Drop a table; return the process of a cleaning that a call asked for."""
        self._waiting.pop(name, None)
        self._left.pop(name, None)
        return self.drop(name)

    def begin(self, busy: Container[str], now_ms: int) -> Cleaning | None:
        """Return the table that is to be cleaned now, which is taken to have begun."""
        waiting = (*self._asked, *self._waiting)
        name = next((each for each in waiting if each not in busy), None)
        if name is None or not self._lane.is_free(now_ms):
            return None
        self._lane.begin(name, now_ms)
        self._left[name] = Wait(since_ms=now_ms, for_ms=self.every_ms)
        step = self._waiting.pop(name, None)
        process_id = self.drop(name)
        if process_id is not None or step is None:
            step = CleaningStep.CLEAN
        return Cleaning(table=name, step=step, process_id=process_id)

    def ended(self, name: str, *, is_done: bool) -> None:
        """Take note that the cleaning of a table is over."""
        self._lane.end(name)
        if is_done:
            self._left.pop(name, None)
