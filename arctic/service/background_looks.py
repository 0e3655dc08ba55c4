"""Looks in threads of their own: a catalog that never answers keeps no service from its work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class BackgroundLooks:
    """So many looks at a time, each at something else; who calls holds the condition."""

    changed: threading.Condition
    """Is told of the end of a look."""
    most: int
    """Looks at a time."""
    under_way: set[str] = field(default_factory=set)
    """What is looked at."""
    _failures: list[Exception] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """Whether another look may begin."""
        return len(self.under_way) < self.most

    def begin(self, what: str, look: Callable[[], None]) -> None:
        """Look at something that nobody looks at."""
        self.under_way.add(what)
        threading.Thread(
            target=self._try, args=(what, look), name="arctic-look", daemon=True
        ).start()

    def take_failures(self) -> list[Exception]:
        """Return why looks have failed since this was asked last."""
        failures, self._failures = self._failures, []
        return failures

    def _try(self, what: str, look: Callable[[], None]) -> None:
        failures = []
        try:
            look()
        except Exception as error:  # noqa: BLE001 - who begins looks says what becomes of it
            failures.append(error)
        finally:
            with self.changed:
                self.under_way.discard(what)
                self._failures += failures
                self.changed.notify_all()
