"""A look in a thread of its own: a catalog that never answers keeps no service from its work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from arctic.service.event_log import Say
from arctic.service.watching.look_clock import LookClock

_WAKE_SECONDS = 5.0
"""How late something may be begun while a look is under way."""


@dataclass(slots=True, kw_only=True)
class BackgroundLook:
    """One look at a time."""

    changed: threading.Condition
    """Is told of the end of a look."""
    clock: LookClock
    say: Say
    is_under_way: bool = False
    _failure: Exception | None = None

    def run(
        self,
        look: Callable[[], None],
        goes_on: Callable[[], bool],
        meanwhile: Callable[[], None],
    ) -> Exception | None:
        """Look, and return why it failed, if it did; returns early where the caller stops waiting.

        Args:
            look: what is done.
            goes_on: whether its end is waited for.
            meanwhile: is called again and again as long as it takes, with the condition held.
        """
        with self.changed:
            self.is_under_way, self._failure = True, None
            threading.Thread(
                target=self._try, args=(look,), name="arctic-look", daemon=True
            ).start()
        is_told = False
        while True:
            with self.changed:
                if not self.is_under_way or not goes_on():
                    return self._failure
                meanwhile()
                self.changed.wait(_WAKE_SECONDS)
            if not is_told and self.clock.is_stuck:
                is_told = True
                self.say("stuck", waits_seconds=int(self.clock.silent_seconds))

    def _try(self, look: Callable[[], None]) -> None:
        failure = None
        try:
            look()
        except Exception as error:  # noqa: BLE001 - who waits for the look says what becomes of it
            failure = error
        finally:
            with self.changed:
                self.is_under_way, self._failure = False, failure
                self.changed.notify_all()
