"""What readers told the service: the last read of each table, and how often it is read.

Rules:
    - How often is a count in which each read weighs less the longer it is ago, so that nothing but
      a number is kept of those before the last.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace

from arctic.scan.read_summary import ReadSummary

_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRead:
    """One read, and when it was told of."""

    at_ms: int
    summary: ReadSummary
    per_hour: float = 1.0
    """Reads, as it was then."""

    def after(self, before: ToldRead | None) -> ToldRead:
        """Return it with those before it counted."""
        return self if before is None else replace(self, per_hour=1 + before.rate(self.at_ms))

    def rate(self, now_ms: int) -> float:
        """Return how many reads an hour there are at a time."""
        return self.per_hour * math.exp(-max(0, now_ms - self.at_ms) / _HOUR_MS)


@dataclass(slots=True)
class ToldReads:
    """Keeps them in memory; any thread may tell and ask."""

    _reads: dict[str, ToldRead] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, table: str, read: ToldRead) -> None:
        """Take note of a read of a table that is known."""
        with self._lock:
            self._reads[table] = read.after(self._reads.get(table))

    def forget(self, table: str) -> None:
        """Forget a table."""
        with self._lock:
            self._reads.pop(table, None)

    def per_hour(self, table: str, now_ms: int) -> float:
        """Return how often a table is read; those of which nobody tells are alike."""
        last = self.last(table)
        return 1.0 if last is None else max(1.0, last.rate(now_ms))

    def last(self, table: str) -> ToldRead | None:
        """Return the last read of a table; None: nobody told of one."""
        with self._lock:
            return self._reads.get(table)
