"""The views that are to be refreshed: one at a time, each where a source changed and its time came.

Rules:
    - A view waits for those of its sources that are views and are to be refreshed themselves.
    - One that was never refreshed here is, as nobody knows what changed before.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.service.scheduling.lane import Lane

Places = tuple[str, ...]
"""Of the metadata of a table, which are others after every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshing:
    """How a view is to be refreshed."""

    sources: tuple[str, ...]
    """Its tables, by name."""
    every_ms: int
    """So long after the last time at least."""


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
    _failed: set[str] = field(default_factory=set)
    _lane: Lane = field(default_factory=Lane)

    def begin_look(self) -> None:
        """Let views be tried again that failed: all tables are looked at now."""
        for name in self._failed:
            self._begun.pop(name, None)
        self._failed.clear()

    def looked(self, name: str, places: Places, refreshing: Refreshing | None) -> None:
        """Take note of a table as it is now; None: it is no view that is to be refreshed."""
        self._places[name] = places
        if refreshing is None:
            self._views.pop(name, None)
        else:
            self._views[name] = refreshing

    def forget(self, name: str) -> None:
        """Drop a table."""
        for known in (self._places, self._views, self._begun):
            known.pop(name, None)
        self._failed.discard(name)

    def begin(self, busy: Container[str], now_ms: int) -> str | None:
        """Return the view that is to be refreshed now, which is taken to have begun."""
        if not self._lane.is_free(now_ms):
            return None
        due = {name for name in sorted(self._views) if self._is_due(name, now_ms)}
        ready = [name for name in due if name not in busy and not self._waits(name, due)]
        if not ready:
            return None
        name = min(ready, key=lambda each: (self._last_ms(each), each))
        self._lane.begin(name, now_ms)
        self._begun[name] = _Begun(places=self._places_of(name), at_ms=now_ms)
        return name

    def ended(self, name: str, *, is_good: bool) -> None:
        """Take note that it is over."""
        self._lane.end(name)
        if not is_good:
            self._failed.add(name)

    def _is_due(self, name: str, now_ms: int) -> bool:
        begun = self._begun.get(name)
        if begun is None:
            return True
        has_changed = begun.places != self._places_of(name)
        # A clock that was set back makes nobody wait.
        return has_changed and abs(now_ms - begun.at_ms) >= self._views[name].every_ms

    def _waits(self, name: str, due: Container[str]) -> bool:
        return any(source in due and source != name for source in self._views[name].sources)

    def _places_of(self, name: str) -> tuple[Places | None, ...]:
        return tuple(self._places.get(source) for source in self._views[name].sources)

    def _last_ms(self, name: str) -> int:
        begun = self._begun.get(name)
        return -1 if begun is None else begun.at_ms
