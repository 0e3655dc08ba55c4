"""A look in a thread of its own: a catalog that never answers keeps no service from its work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class BackgroundLook:
    """One look at a time; who calls holds the condition."""

    changed: threading.Condition
    """Is told of the end of a look."""
    is_under_way: bool = False
    _failure: Exception | None = None

    def begin(self, look: Callable[[], None]) -> None:
        """Look; the one before has ended."""
        self.is_under_way = True
        threading.Thread(target=self._try, args=(look,), name="arctic-look", daemon=True).start()

    def take_failure(self) -> Exception | None:
        """Return why a look has failed since this was asked last; None: none has."""
        failure, self._failure = self._failure, None
        return failure

    def _try(self, look: Callable[[], None]) -> None:
        failure = None
        try:
            look()
        except Exception as error:  # noqa: BLE001 - who begins looks says what becomes of it
            failure = error
        finally:
            with self.changed:
                self.is_under_way, self._failure = False, failure
                self.changed.notify_all()
