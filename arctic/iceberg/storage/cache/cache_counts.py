"""How many bytes of data files came from where, counted while they are read.

Rules:
    - A block is counted whole, each time that it is looked for: what is read of it may be less.
"""

from __future__ import annotations

import threading


class CacheCounts:
    """Counts of one read, or of a process; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.kept_bytes = 0
        """That were on this machine."""
        self.fetched_bytes = 0
        """That came from where the files lie."""
        self.requests = 0
        """By which they came; a file that came whole when it was opened is one."""
        self.unkept_bytes = 0
        """Of those that were fetched, what the cache had no room for or could not write."""

    def kept(self, size: int) -> None:
        """Count bytes that were here."""
        with self._lock:
            self.kept_bytes += size

    def fetched(self, size: int) -> None:
        """Count the answer to a request."""
        with self._lock:
            self.fetched_bytes += size
            self.requests += 1

    def unkept(self, size: int) -> None:
        """Count bytes that the cache did not take."""
        with self._lock:
            self.unkept_bytes += size
