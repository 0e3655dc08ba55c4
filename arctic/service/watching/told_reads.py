"""What readers told the service: the last read of each table, and how often it is read.

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
import threading
from dataclasses import dataclass, field, replace

from arctic.scan.read_summary import ReadSummary

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRead:
    """One read, and when it was told of."""

    at_ms: int
    summary: ReadSummary


@dataclass(slots=True)
class ToldReads:
    """Keeps them in memory; any thread may tell and ask."""

    since_ms: int
    """When readers could first tell."""
    _reads: dict[str, ToldRead] = field(default_factory=dict)
    _rates: dict[str, ReadRate] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, table: str, read: ToldRead) -> None:
        """Take note of a read of a table that is known."""
        with self._lock:
            self._reads[table] = read
            self._rates[table] = self._rate(table).told(read.at_ms)

    def forget(self, table: str) -> None:
        """Forget a table."""
        with self._lock:
            self._reads.pop(table, None)
            self._rates.pop(table, None)

    def per_hour(self, table: str, now_ms: int) -> float:
        """Return how often a table is read; all tables without a told read have the same rate."""
        with self._lock:
            return self._rate(table).per_hour(now_ms)

    def last(self, table: str) -> ToldRead | None:
        """Return the last read of a table; None: nobody told of one."""
        with self._lock:
            return self._reads.get(table)

    def _rate(self, table: str) -> ReadRate:
        return self._rates.get(table, ReadRate(since_ms=self.since_ms))
