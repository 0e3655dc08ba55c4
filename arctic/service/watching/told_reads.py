"""What readers told the service: the last read of each table, and how often it is read."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from arctic.scan.read_summary import ReadSummary
from arctic.service.watching.read_rate import ReadRate


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
