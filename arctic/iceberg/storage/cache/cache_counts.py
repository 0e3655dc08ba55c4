"""How many bytes of data files came from where, counted while they are read.

Rules:
    - A block is counted whole, each time that it is looked for: what is read of it may be less.
    - What one read counts, its process counts too.
"""

from __future__ import annotations

import threading

from arctic.forks import forgets_in_children


class CacheCounts:
    """Counts of one read, or of a process; safe for threads."""

    def __init__(self, above: CacheCounts | None = None) -> None:
        """Begin with nothing.

        Args:
            above: what counts the same too; None: nothing does.
        """
        self._above = above
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._lock = threading.Lock()
        self.kept_bytes = 0
        """That were on this machine."""
        self.fetched_bytes = 0
        """That came from where the files lie."""
        self.requests = 0
        """By which they came; a file that came whole when it was opened is one."""
        self.unkept_bytes = 0
        """Of those that were fetched, what the cache had no room for or could not write."""
        self.evicted_bytes = 0
        """That went to make room for others, as the process that made it knows."""

    def kept(self, size: int) -> None:
        """Count bytes that were here."""
        with self._lock:
            self.kept_bytes += size
        if self._above is not None:
            self._above.kept(size)

    def fetched(self, size: int) -> None:
        """Count the answer to a request."""
        with self._lock:
            self.fetched_bytes += size
            self.requests += 1
        if self._above is not None:
            self._above.fetched(size)

    def unkept(self, size: int) -> None:
        """Count bytes that the cache did not take."""
        with self._lock:
            self.unkept_bytes += size
        if self._above is not None:
            self._above.unkept(size)

    def evicted(self, size: int) -> None:
        """Count bytes that made room."""
        with self._lock:
            self.evicted_bytes += size


OF_PROCESS = CacheCounts()
"""What all reads of this process had."""
forgets_in_children(OF_PROCESS)
