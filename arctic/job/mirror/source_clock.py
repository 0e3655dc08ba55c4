"""How far the time of a source has come in its mirror.

Strategy: look at the source's clock, then at once at the end of its log. All that could be seen in
the source at that time lies in the log before that end. So a mirror that has followed the log to
there is complete up to that time, whatever times the transactions themselves note.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_LOOK_SECONDS = 1.0
_MOST = 1_000
"""Looks that wait for the mirror; while it is that far behind, no more are taken."""

Moment = tuple[int, int]
"""Milliseconds since 1970-01-01 UTC, and the place of the log that was looked at afterwards."""


class SourceClock:
    """Knows for a place of the log which time it holds completely."""

    def __init__(self, look: Callable[[], Moment]) -> None:
        """Take the first look."""
        self._look = look
        self._waiting: deque[Moment] = deque([look()])
        self._looked = time.monotonic()
        self._reached_ms: int | None = None

    @property
    def first_place(self) -> int:
        """Where a mirror has to come to know any time."""
        return self._waiting[0][1] if self._waiting else -1

    def tick(self) -> None:
        """Look, if it is time."""
        if time.monotonic() - self._looked >= _LOOK_SECONDS and len(self._waiting) < _MOST:
            self._waiting.append(self._look())
            self._looked = time.monotonic()

    def at(self, place: int) -> int | None:
        """Return up to which time everything is in the log up to a place; None: not known.

        Args:
            place: not before that of the call before.
        """
        while self._waiting and self._waiting[0][1] <= place:
            self._reached_ms = max(self._waiting.popleft()[0], self._reached_ms or 0)
        return self._reached_ms
