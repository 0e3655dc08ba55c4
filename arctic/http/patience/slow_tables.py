"""Calls that look at a table, or change one: a table whose storage hangs keeps no other from it.

Rules:
    - Calls of one kind about one table come one after another, and who waits for a turn takes no
      thread. Each finds out anew, so that nobody is told what was so before the call.
    - All of them have threads of their own: calls that are answered from the last look of the
      service wait for none of them.
    - What is not answered in time goes on in the background. As long as it does, the next call of
      its kind about its table is refused at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, fail_after, to_thread

from arctic.errors import StorageError
from arctic.patient_calls import PatientCalls

T = TypeVar("T")
_Key = tuple[str, str]
_AT_A_TIME = 20
"""Calls; four times as many may hang beside them."""
SECONDS = 30.0
LONG_SECONDS = 600.0
"""For what may list every file below the folders of a table."""


class SlowTables:
    """Carries out calls, each in a thread, for callers who wait no longer than some time."""

    def __init__(self, seconds: float) -> None:
        """Begin none.

        Args:
            seconds: how long the turn of a call is waited for, and then its answer.
        """
        self._seconds = seconds
        self._threads = CapacityLimiter(_AT_A_TIME)
        self._calls: PatientCalls[_Key, Any] = PatientCalls(threads=_AT_A_TIME, seconds=seconds)
        self._turns: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    async def run(self, call: str, table: str, work: Callable[[], T]) -> T:
        """Return what a call finds out, or raise what it raises.

        Args:
            call: what it does, such as ``status``.
            table: the table that it is about.
            work: is called by a thread.

        Raises:
            StorageError: it was not its turn in time, or there was no answer.
        """
        key = (call, table)
        turn = self._turns.setdefault(key, asyncio.Lock())
        try:
            with fail_after(self._seconds):
                await turn.acquire()
        except TimeoutError:
            raise StorageError(
                f"table {table!r}: calls for its {call} have waited for {self._seconds:.0f} "
                "seconds before this one; call again later"
            ) from None
        try:
            return await to_thread.run_sync(
                self._answer, key, work, abandon_on_cancel=True, limiter=self._threads
            )
        finally:
            turn.release()

    def _answer(self, key: _Key, work: Callable[[], T]) -> T:
        ((_, answer),) = self._calls.run(lambda _: work(), [key])
        if isinstance(answer, Exception):
            raise answer
        found: T = answer
        return found
