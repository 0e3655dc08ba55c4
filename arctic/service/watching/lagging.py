"""Groups that lag behind: told once when a table begins to wait too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.service.scheduling.group import Group

LATE_MS = 3_600_000
"""A table that waits for so long is late, whatever its scheduler lets it wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A group that lags since now."""

    name: str
    waits_ms: int


@dataclass(slots=True)
class Lagging:
    """Remembers of which groups it was told."""

    _told: set[str] = field(default_factory=set)

    def look(self, groups: Mapping[str, Group], now_ms: int) -> list[Late]:
        """Return those that lag since the last look; one that caught up may lag again."""
        late = []
        for name, group in groups.items():
            waits_ms = group.longest_wait_ms(now_ms)
            if waits_ms < LATE_MS:
                self._told.discard(name)
            elif name not in self._told:
                self._told.add(name)
                late.append(Late(name=name, waits_ms=waits_ms))
        return late
