"""Work that is done for one table at a time, and that one which takes long does not hold up.

Rules:
    - What has taken ten minutes lets the next begin beside it: it may be large, or hang for ever.
    - So many may be under way at a time, whatever they do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from arctic.service.scheduling.tries import Wait

_LONG_MS = 600_000
_MOST_AT_A_TIME = 8


@dataclass(slots=True)
class Lane:
    """Who is at work, and how long others wait for it."""

    _begun: dict[str, Wait] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        """Say whether a table is at work."""
        return name in self._begun

    def is_free(self, now_ms: int) -> bool:
        """Say whether another may begin."""
        is_waited_for = any(not wait.is_over(now_ms) for wait in self._begun.values())
        return not is_waited_for and len(self._begun) < _MOST_AT_A_TIME

    def begin(self, name: str, now_ms: int) -> None:
        """Take note of a table that begins."""
        self._begun[name] = Wait(since_ms=now_ms, for_ms=_LONG_MS)

    def end(self, name: str) -> None:
        """Take note that it has ended."""
        self._begun.pop(name, None)
