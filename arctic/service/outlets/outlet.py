"""Events on their way to one who wants to know.

Rules:
    - Saying an event never waits: what cannot be kept in mind is counted and dropped.
    - A failure to tell goes to the log alone: telling the outlet of it would never end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial

from arctic.retry import RetryPolicy
from arctic.service.ending import Ending
from arctic.service.event_log import Say, json_line

TOLD = frozenset(
    {
        "cleaned",
        "cut off",
        "failed",
        "lagging",
        "optimized",
        "published",
        "refreshed",
        "serving",
        "stopped",
        "stuck",
        "would clean",
    }
)
"""The events that outlets are told."""
_MOST_WAITING = 1_000
_RETRY = RetryPolicy(retries=3, min_wait_ms=500, max_wait_ms=4_000)


class NotToldError(Exception):
    """An event that did not arrive; its text holds no secret. Whoever tells catches it."""


class Outlet:
    """A thread that tells events, one after another."""

    def __init__(self, name: str, tell: Callable[[str], None], log: Say, ending: Ending) -> None:
        """Prepare to tell.

        Args:
            name: of the outlet, in the log.
            tell: is given an event as a JSON document; raises ``NotToldError``.
            log: is told of failures.
            ending: how long the last events are waited for.
        """
        self._name = name
        self._tell = tell
        self._log = log
        self._ending = ending
        self._queue: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._dropped = 0

    def say(self, event: str, **facts: object) -> None:
        """Tell an event soon, if it is one that is told."""
        if event not in TOLD:
            return
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        try:
            self._queue.put_nowait(json_line(event, at=at, **facts))
        except queue.Full:
            self._dropped += 1

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tell until the block is left, and what was said before while there is time."""
        thread = threading.Thread(target=self._run, name=f"arctic-{self._name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ending.begin()
            try:
                self._queue.put_nowait(None)
            except queue.Full:
                self._dropped += self._queue.qsize()
            else:
                thread.join(self._ending.left_seconds())
            if self._dropped:
                self._fail(f"{self._dropped} events were dropped, as too many waited")

    def _run(self) -> None:
        while (document := self._queue.get()) is not None:
            self._try(document)

    def _try(self, document: str) -> None:
        try:
            _RETRY.run(partial(self._tell, document), on=NotToldError)
        except NotToldError as error:
            self._fail(str(error))

    def _fail(self, reason: str) -> None:
        self._log("failed", what=f"telling the {self._name}", why=reason)
