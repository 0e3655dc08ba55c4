"""Several readings at a time, each in a thread, their batches in turn.

Strategy: as many readings run as there are threads, and one batch is taken of each, round after
round; one that ends gives its place to the next. So the order of batches is the same every time,
and no reading has to run far ahead of the others.

Rules:
    - Whoever stops taking batches stops the readings; none is left behind.
    - The first failure that is met ends all of them.

Memory: beside what a reading holds, ``AHEAD`` batches of each that runs.

Must not know: what a batch is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

from arctic.errors import InternalError

T = TypeVar("T")

AHEAD = 4
"""Batches of a reading that wait to be taken, at most."""


def read_ahead(readings: Sequence[Callable[[], Iterator[T]]], threads: int) -> Iterator[T]:
    """Yield the batches of all readings.

    Args:
        readings: each begins to read when it is called.
        threads: how many run at a time, at least 1; with 1 they run one after the other, in the
            thread of the caller.
    """
    if threads < 1:
        raise InternalError(f"readings in {threads} threads; expected 1 or more")
    if threads == 1 or len(readings) < 2:
        for reading in readings:
            yield from reading()
        return
    left = deque(readings)
    running: deque[_Reading[T]] = deque()
    try:
        while left or running:
            while left and len(running) < threads:
                running.append(_Reading(left.popleft()))
            item = running[0].take()
            if isinstance(item, _End):
                ended = running.popleft()
                ended.stop()
                if item.failure is not None:
                    raise item.failure
            else:
                running.rotate(-1)
                yield item
    finally:
        for each in running:
            each.stop()


@dataclass(frozen=True, slots=True)
class _End:
    """Comes after the last batch."""

    failure: BaseException | None


class _Reading(Generic[T]):
    """One reading, in its thread."""

    def __init__(self, reading: Callable[[], Iterator[T]]) -> None:
        self._reading = reading
        self._items: SimpleQueue[T | _End] = SimpleQueue()
        self._room = Semaphore(AHEAD)
        self._is_wanted = True
        self._thread = Thread(target=self._run, name="arctic-read", daemon=True)
        self._thread.start()

    def take(self) -> T | _End:
        """Return the next batch, once it is there, or the end."""
        item = self._items.get()
        self._room.release()
        return item

    def stop(self) -> None:
        """Return once the thread has ended, and with it what the reading has opened."""
        self._is_wanted = False
        self._room.release()
        self._thread.join()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            # A generator, so that what it holds is let go of here and not when it is collected.
            with closing(_generated(self._reading)) as batches:
                self._room.acquire()
                for batch in batches:
                    self._items.put(batch)
                    self._room.acquire()
                    if not self._is_wanted:
                        break
        except BaseException as error:  # noqa: BLE001 - raised where batches are taken
            failure = error
        self._items.put(_End(failure))


def _generated(reading: Callable[[], Iterator[T]]) -> Generator[T, None, None]:
    yield from reading()
