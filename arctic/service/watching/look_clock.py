"""How long a look has heard nothing of its catalog: one that hears nothing for long is stuck.

Rules:
    - A look at many tables may take long, so it is not its length that counts: each store and each
      table that it has done is a sign that it goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

STUCK_SECONDS = 600.0


@dataclass(slots=True)
class LookClock:
    """One look at a time; any thread may ask."""

    _heard: float | None = None
    """When something was last heard, by a clock that is never set; None: nobody looks."""

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Count until the block is left."""
        self._heard = time.monotonic()
        try:
            yield
        finally:
            self._heard = None

    def heard(self) -> None:
        """Take note that the look goes on."""
        if self._heard is not None:
            self._heard = time.monotonic()

    @property
    def silent_seconds(self) -> float:
        """For how long the look that is under way has heard nothing; 0: none is."""
        heard = self._heard
        return 0.0 if heard is None else time.monotonic() - heard

    @property
    def is_stuck(self) -> bool:
        """Whether that is too long."""
        return self.silent_seconds > STUCK_SECONDS
