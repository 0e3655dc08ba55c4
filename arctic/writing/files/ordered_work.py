"""Work in lanes: in order inside a lane, lanes beside one another in threads.

Strategy: pyarrow lets go of the interpreter while it takes, casts, encodes and compresses, so
threads are enough. A lane that has more to do goes back to the end of the queue after each piece,
so no lane keeps the others waiting.

Rules:
    - With one thread everything runs at once, in the thread that asks for it.
    - So does what is small, where nothing of its lane waits: to wake a thread would take longer.
    - After a failure nothing more begins; whoever asks next gets the first failure.

Memory: at most ``2 * threads`` pieces of work wait or run.

Must not know: what the work does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Condition
from typing import TypeVar

R = TypeVar("R")
Work = Callable[[], object]


@dataclass(slots=True, eq=False)
class Lane:
    """Pieces of work that need each other's results."""

    waiting: deque[Work] = field(default_factory=deque)
    is_active: bool = False
    """Whether a piece of it runs or is about to."""


class OrderedWork:
    """Runs the lanes of one task."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._changed = Condition()
        self._pending = 0
        self._failure: BaseException | None = None

    def submit(self, lane: Lane, work: Work, *, is_small: bool = False) -> None:
        """Take a piece of work for a lane; waits while too much is pending.

        Raises:
            BaseException: what an earlier piece of any lane raised.
        """
        if self._threads == 1:
            work()
            return
        with self._changed:
            self._raise_failure()
            runs_here = is_small and not lane.is_active
        if runs_here:
            work()
            return
        with self._changed:
            self._changed.wait_for(
                lambda: self._failure is not None or self._pending < 2 * self._threads
            )
            self._raise_failure()
            lane.waiting.append(work)
            self._pending += 1
            if not lane.is_active:
                self._activate(lane)

    def wait(self, lane: Lane) -> None:
        """Return once everything of a lane is done.

        Raises:
            BaseException: what a piece of any lane raised.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._failure is not None or not lane.is_active)
            self._raise_failure()

    def results(self, makers: Sequence[Callable[[], R]], *, is_small: bool = False) -> list[R]:
        """Do work that needs no lane, and return what it returns, in order.

        Raises:
            BaseException: what the first of them that failed raised.
        """
        if self._threads == 1 or is_small or len(makers) < 2:
            return [make() for make in makers]
        return list(self._started().map(lambda make: make(), makers))

    def close(self) -> None:
        """Return once everything is done.

        Raises:
            BaseException: what a piece of work raised.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._pending)
        self._shut_down()
        self._raise_failure()

    def abandon(self) -> None:
        """Begin nothing more, and return once nothing runs."""
        with self._changed:
            self._failure = self._failure or _AbandonedError()
            self._changed.wait_for(lambda: not self._pending)
            self._failure = None
        self._shut_down()

    def _activate(self, lane: Lane) -> None:
        lane.is_active = True
        self._started().submit(self._run_next, lane)

    def _run_next(self, lane: Lane) -> None:
        done = 1
        try:
            if self._failure is None:
                lane.waiting[0]()
        except BaseException as error:  # noqa: BLE001 - raised where somebody asks for the work
            with self._changed:
                self._failure = self._failure or error
        with self._changed:
            lane.waiting.popleft()
            if self._failure is not None:
                done += len(lane.waiting)
                lane.waiting.clear()
            self._pending -= done
            if lane.waiting:
                self._activate(lane)
            else:
                lane.is_active = False
            self._changed.notify_all()

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="arctic-write")
        return self._pool

    def _shut_down(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


class _AbandonedError(Exception):
    """Stands for a failure where the caller gave up; never leaves this module."""
