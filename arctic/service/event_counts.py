"""How often each event was said, and sums of what the events told: for metrics."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

_SUMMED = ("seconds", "bytes_written", "bytes", "tasks")


@dataclass(slots=True)
class EventCounts:
    """Counts what is said, and may be asked by any thread."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _events: Counter[str] = field(default_factory=Counter)
    _sums: dict[tuple[str, str], float] = field(default_factory=dict)

    def say(self, event: str, **facts: object) -> None:
        """Count an event."""
        with self._lock:
            self._events[event] += 1
            for name in _SUMMED:
                fact = facts.get(name)
                if isinstance(fact, int | float):
                    key = (event, name)
                    self._sums[key] = self._sums.get(key, 0) + fact

    @property
    def events(self) -> dict[str, int]:
        """Return how often each event was said."""
        with self._lock:
            return dict(self._events)

    @property
    def sums(self) -> dict[tuple[str, str], float]:
        """Return the sum of each fact of each event."""
        with self._lock:
            return dict(self._sums)
