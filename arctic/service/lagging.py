"""Groups that lag behind: said once when a table begins to wait too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.service.event_log import Say
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.ranks import LONGEST_WAIT_MS


@dataclass(slots=True)
class Lagging:
    """Remembers of which groups it was said."""

    say: Say
    _said: set[str] = field(default_factory=set)

    def look(self, groups: Mapping[str, Group], now_ms: int) -> None:
        """Say it of those that lag since the last look; one that caught up may lag again."""
        for name, group in groups.items():
            waits_ms = group.longest_wait_ms(now_ms)
            if waits_ms < LONGEST_WAIT_MS:
                self._said.discard(name)
            elif name not in self._said:
                self._said.add(name)
                self.say("lagging", group=name, waits_seconds=waits_ms // 1_000)
