"""A look in a thread of its own: a catalog that never answers keeps no service from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from arctic.service.event_log import Say, why


@dataclass(slots=True, kw_only=True)
class BackgroundLook:
    """One look at a time."""

    changed: threading.Condition
    """Is told of the end of a look."""
    say: Say
    is_under_way: bool = False

    def run(self, look: Callable[[], None], goes_on: Callable[[], bool]) -> None:
        """Look, and return when that is done, or when nobody goes on to wait for it."""
        with self.changed:
            self.is_under_way = True
            threading.Thread(
                target=self._try, args=(look,), name="arctic-look", daemon=True
            ).start()
            self.changed.wait_for(lambda: not self.is_under_way or not goes_on())

    def _try(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Exception as error:  # noqa: BLE001 - the next look may go well; what runs goes on
            self.say("failed", what="looking at the catalog", why=why(error))
        finally:
            with self.changed:
                self.is_under_way = False
                self.changed.notify_all()
