"""Threads that wait for stores which are far away, shared by all of this process.

A client of a store may have connections for each thread: threads that come and go would make them
anew each time.

Rules:
    - What runs here waits for nothing else that does.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

AT_A_TIME = 16
"""Requests of a process that wait side by side."""


class _Threads:
    _pool: ThreadPoolExecutor | None

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            # A child has none of the threads.
            os.register_at_fork(after_in_child=self._forget)

    def get(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="arctic-far")
            return self._pool

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._pool = None


_THREADS = _Threads()


def far_threads() -> ThreadPoolExecutor:
    """Return what carries out calls that wait; nobody shuts it down."""
    return _THREADS.get()
