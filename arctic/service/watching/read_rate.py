"""How often a table is read, from the reads that were told of.

Rules:
    - A read weighs less the longer it is ago, by a day for a factor of e, so that nothing but a
      number is kept of those that were told, and a table that is read every morning is told from
      one that nobody reads.
    - A table of which no read was ever told counts as read once an hour: its readers may not tell.
      To the told reads of any other, and the hours they were told in, one read and one hour are
      added, so that the first few do not say too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

_HOUR_MS = 3_600_000
_MEMORY_MS = 24 * _HOUR_MS
_UNTOLD_PER_HOUR = 1.0
_BELIEVED_HOURS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRate:
    """Of one table."""

    since_ms: int
    """When the first could have been told of."""
    at_ms: int = 0
    """When the last was told of."""
    weight: float = 0.0
    """Of all, as it was then."""

    def told(self, at_ms: int) -> ReadRate:
        """Count a read."""
        return replace(self, at_ms=at_ms, weight=1.0 + self._weight(at_ms))

    def per_hour(self, now_ms: int) -> float:
        """Return how many reads an hour there are; above 0."""
        if not self.weight:
            return _UNTOLD_PER_HOUR
        passed = 1.0 - math.exp(-max(0, now_ms - self.since_ms) / _MEMORY_MS)
        listened_hours = passed * _MEMORY_MS / _HOUR_MS
        believed = _UNTOLD_PER_HOUR * _BELIEVED_HOURS
        return (believed + self._weight(now_ms)) / (_BELIEVED_HOURS + listened_hours)

    def _weight(self, now_ms: int) -> float:
        return self.weight * math.exp(-max(0, now_ms - self.at_ms) / _MEMORY_MS)
