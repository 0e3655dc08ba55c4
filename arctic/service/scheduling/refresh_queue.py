"""The views that are to be refreshed: one at a time, each where a source changed and its time came.

Rules:
    - A view waits for those of its sources that are views and are to be refreshed themselves.
    - One that was never refreshed here is, as nobody knows what changed before.
    - One of days is refreshed too when another day is over, whether a source changed or not.
    - Who was tried longest ago goes first. One that failed is left alone for longer each time.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.service.scheduling.lane import Lane
from arctic.service.scheduling.tries import Failures, Wait
from arctic.views.days_over import days_over

Places = tuple[str, ...]
"""Of the metadata of a table, which are others after every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshing:
    """How a view is to be refreshed."""

    sources: tuple[str, ...]
    """Its tables, by name."""
    every_ms: int
    """So long after the last time at least."""
    is_of_days: bool = False
    """It has rows of each day that is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A refresh: what its sources were, and when it began."""

    places: tuple[Places | None, ...]
    at_ms: int


@dataclass(slots=True)
class RefreshQueue:
    """What the sources of each view were at its last refresh, and what they are."""

    _places: dict[str, Places] = field(default_factory=dict)
    _views: dict[str, Refreshing] = field(default_factory=dict)
    _begun: dict[str, _Begun] = field(default_factory=dict)
    _failures: Failures = field(default_factory=Failures)
    _lane: Lane = field(default_factory=Lane)

    def looked(self, name: str, places: Places, refreshing: Refreshing | None) -> None:
        """Take note of a table as it is now; None: it is no view that is to be refreshed."""
        self._places[name] = places
        if refreshing is None:
            self._views.pop(name, None)
            self._failures.forget(name)
        else:
            self._views[name] = refreshing

    def forget(self, name: str) -> None:
        """Drop a table."""
        for known in (self._places, self._views, self._begun):
            known.pop(name, None)
        self._failures.forget(name)

    def forgive(self, since_ms: int) -> None:
        """Let views be tried at once that failed since a time by no fault of their own."""
        self._failures.forgive(since_ms)

    def begin(self, busy: Container[str], now_ms: int) -> str | None:
        """Return the view that is to be refreshed now, which is taken to have begun."""
        if not self._lane.is_free(now_ms):
            return None
        due = {name for name in sorted(self._views) if self._is_due(name, now_ms)}
        ready = [name for name in due if name not in busy and not self._waits(name, due)]
        if not ready:
            return None
        name = min(ready, key=lambda each: (-self._age_ms(each, now_ms), each))
        self._lane.begin(name, now_ms)
        self._begun[name] = _Begun(places=self._places_of(name), at_ms=now_ms)
        return name

    def ended(self, name: str, now_ms: int, *, is_good: bool) -> None:
        """Take note that it is over."""
        self._lane.end(name)
        self._failures.ended(name, now_ms, is_good=is_good or name not in self._views)

    def _is_due(self, name: str, now_ms: int) -> bool:
        begun, view = self._begun.get(name), self._views[name]
        if begun is None:
            return True
        if name in self._lane:
            return False
        if name in self._failures:
            return self._failures.may_begin(name, now_ms)
        has_changed = begun.places != self._places_of(name)
        is_day_over = view.is_of_days and days_over(now_ms) != days_over(begun.at_ms)
        rest = Wait(since_ms=begun.at_ms, for_ms=view.every_ms)
        return (has_changed or is_day_over) and rest.is_over(now_ms)

    def _waits(self, name: str, due: Container[str]) -> bool:
        return any(source in due and source != name for source in self._views[name].sources)

    def _places_of(self, name: str) -> tuple[Places | None, ...]:
        return tuple(self._places.get(source) for source in self._views[name].sources)

    def _age_ms(self, name: str, now_ms: int) -> float:
        """Return how long ago a view was tried; beyond now counts as if it lay in the past."""
        begun = self._begun.get(name)
        return float("inf") if begun is None else abs(now_ms - begun.at_ms)
