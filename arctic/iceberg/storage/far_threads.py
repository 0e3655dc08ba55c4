"""Threads that wait for stores which are far away, shared by all of this process.

A client of a store may have connections for each thread: threads that come and go would make them
anew each time.

Rules:
    - What runs here waits for nothing else that does.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from arctic.forks import forgets_in_children

AT_A_TIME = 16
"""Requests of a process that wait side by side."""


class _Threads:
    _pool: ThreadPoolExecutor | None

    def __init__(self) -> None:
        self.forget()
        forgets_in_children(self)

    def get(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="arctic-far")
            return self._pool

    def forget(self) -> None:
        """Begin without a thread, as a child has none."""
        self._lock = threading.Lock()
        self._pool = None


_THREADS = _Threads()


def far_threads() -> ThreadPoolExecutor:
    """Return what carries out calls that wait; nobody shuts it down."""
    return _THREADS.get()
