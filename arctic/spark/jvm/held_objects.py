"""Objects of Spark's JVM that this process holds: let go before they fill the JVM.

Py4J makes each of them part of a circle in Python once a method of it is called, so they stay until
Python looks for circles. That is rare in a process that is large and makes little that lasts, and
for the JVM they are frames with their plans, and with the tables that these have broadcast: a few
hundred statements fill a driver of a gigabyte.

Must not know: whose objects they are.
"""

from __future__ import annotations

import gc
import time

from py4j.finalizer import ThreadSafeFinalizer  # type: ignore[import-untyped]

MOST_MORE = 1_000
"""Objects that may come after a collection before there is another: some ten statements that write
make as many."""
_REST = 20
"""A collection is followed by so many times what it took, whatever comes: a large process is slow
to go through."""


class HeldObjects:
    """Counts them; may be asked by several threads."""

    def __init__(self) -> None:
        self._left = 0
        self._rests_until = 0.0

    def let_go(self) -> None:
        """Collect garbage if there may be much of it, and it was not done just now."""
        began, now = time.monotonic(), held()
        # Python may have collected by itself since.
        self._left = min(self._left, now)
        if now - self._left < MOST_MORE or began < self._rests_until:
            return
        gc.collect()
        ended = time.monotonic()
        self._left, self._rests_until = held(), ended + _REST * (ended - began)


def held() -> int:
    """Return how many objects of the JVM this process holds, garbage too."""
    return len(ThreadSafeFinalizer.finalizers)
