"""The end of a service: one deadline for all that is still to be done.

Rules:
    - It counts from when somebody first asked for the end, whatever is waited for then, and by
      whom: what one does not use the next has.
    - Of several services in a process, one that has done what it was to do ends by itself: only its
      own time counts from then on. The end of the process is the end of all of them.
"""

from __future__ import annotations

import threading
import time

END_SECONDS = 9.5
"""From then on; the process has half a second more to be gone within ten."""


class Ending:
    """The end of one process, or of one service among several in it; any thread may ask for it."""

    def __init__(self, of_all: Ending | None = None) -> None:
        """Let nobody have asked for it yet.

        Args:
            of_all: the end of the process that a service is in; None: it is that itself.
        """
        self._of_all = of_all
        self._lock = threading.Lock()
        self._asked: float | None = None

    def begin(self) -> None:
        """Count from now, if nobody asked for the end before."""
        with self._lock:
            if self._asked is None:
                self._asked = time.monotonic()

    def left_seconds(self, *, spare: float = 0.0) -> float:
        """Return for how long something may be waited for.

        Args:
            spare: seconds that others need after it.
        """
        with self._lock:
            passed = 0.0 if self._asked is None else time.monotonic() - self._asked
        left = max(0.0, END_SECONDS - spare - passed)
        return left if self._of_all is None else min(left, self._of_all.left_seconds(spare=spare))
