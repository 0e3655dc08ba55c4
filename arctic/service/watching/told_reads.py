"""The last read of each table that a reader told the service of."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from arctic.scan.read_summary import ReadSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRead:
    """One read, and when it was told of."""

    at_ms: int
    summary: ReadSummary


@dataclass(slots=True)
class ToldReads:
    """Keeps them in memory; any thread may tell and ask."""

    _reads: dict[str, ToldRead] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, table: str, read: ToldRead) -> None:
        """Take note of a read of a table that is known."""
        with self._lock:
            self._reads[table] = read

    def forget(self, table: str) -> None:
        """Forget a table."""
        with self._lock:
            self._reads.pop(table, None)

    def last(self, table: str) -> ToldRead | None:
        """Return the last read of a table; None: nobody told of one."""
        with self._lock:
            return self._reads.get(table)
