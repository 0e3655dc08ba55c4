"""Several systems measured side by side: one at a time, each for a phase.

A machine that is slower for some minutes than for others says nothing of systems that come one
after the other. In turns it is as slow for each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

HandOn = Callable[[int], None]
"""Let others have their turns; returns when the next one is the caller's. Takes its stage: whoever
is in an earlier one comes first, so all begin a stage together."""


def alone(_stage: int) -> None:
    """Hand on where there are no others."""


class StoppedError(Exception):
    """Nobody has a turn any more."""


class Turns:
    """One of several threads has the turn, until it hands it on.

    Args:
        parts: how many take part; each of them has to.
    """

    def __init__(self, parts: int) -> None:
        self._clock = count(parts)
        self._due = {number: (0, number) for number in range(parts)}
        """Who has the least has the turn."""
        self._changed = threading.Condition()
        self._is_stopped = False

    @contextmanager
    def part(self, number: int) -> Iterator[HandOn]:
        """Take part from the first turn until the end of the block.

        Raises:
            StoppedError: from here and from handing on, once all is over.
        """
        try:
            self._wait(number)
            yield lambda stage: self._hand_on(number, stage)
        finally:
            with self._changed:
                del self._due[number]
                self._changed.notify_all()

    def stop(self) -> None:
        """Have everyone give up."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _hand_on(self, number: int, stage: int) -> None:
        with self._changed:
            self._due[number] = stage, next(self._clock)
            self._changed.notify_all()
        self._wait(number)

    def _wait(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_stopped or self._due[number] == min(self._due.values())
            )
            if self._is_stopped:
                raise StoppedError("the others stopped")


def run_in_turns(parts: Sequence[Callable[[HandOn], None]]) -> None:
    """Run parts that hand on their turns, until all have ended or one has failed.

    Args:
        parts: at least one.
    """
    turns = Turns(len(parts))

    def run(number: int) -> None:
        with turns.part(number) as hand_on:
            parts[number](hand_on)

    with ThreadPoolExecutor(len(parts)) as threads:
        running = [threads.submit(run, number) for number in range(len(parts))]
        try:
            for each in running:
                each.result()
        except BaseException:
            turns.stop()
            raise
