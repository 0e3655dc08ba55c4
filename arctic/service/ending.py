"""The end of a service: one deadline for all that is still to be done.

Rules:
    - It counts from when somebody first asked for the end, whatever is waited for then, and by
      whom: what one does not use the next has.
"""

from __future__ import annotations

import threading
import time

END_SECONDS = 9.5
"""From then on; the process has half a second more to be gone within ten."""


class Ending:
    """The end of one process; any thread may ask for it."""

    def __init__(self) -> None:
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
        return max(0.0, END_SECONDS - spare - passed)
