"""Others that may be in the way: trying again, and waiting for one's turn among own threads.

Rules:
    - Waits are random up to a limit that doubles, so that those who met once do not meet again.
    - There is no wait after the last try: whoever gives up says so at once.

Must not know: what is tried.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from arctic.forks import forgets_in_children

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

_MOST_DOUBLINGS = 30


def _always(error: Exception) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how fast something is tried again."""

    retries: int
    """After the first try."""
    min_wait_ms: int = 0
    """The limit of the first wait."""
    max_wait_ms: int = 0
    """No wait is longer."""
    total_ms: int | None = None
    """When this time is over, nothing is tried again; None: it does not matter."""
    sure_retries: int = 0
    """So many of them are made whatever the time is."""

    @property
    def most_tries(self) -> int:
        """The first one counts."""
        return self.retries + 1

    def wait_seconds(self, attempt: int) -> float:
        """Return a random wait before the retry of this number, from 0 on (full jitter)."""
        longest = min(self.max_wait_ms, self.min_wait_ms * 2 ** min(attempt, _MOST_DOUBLINGS))
        return random.uniform(0, longest) / 1000

    def tries(self) -> Iterator[int]:
        """Yield the number of each try, from 0 on, and wait between them."""
        started = time.monotonic()
        yield 0
        for retry in range(self.retries):
            time.sleep(self.wait_seconds(retry))
            is_sure = retry < self.sure_retries
            elapsed_ms = (time.monotonic() - started) * 1000
            if self.total_ms is not None and elapsed_ms > self.total_ms and not is_sure:
                return
            yield retry + 1

    def run(
        self,
        step: Callable[[], T],
        *,
        on: type[E] | tuple[type[E], ...],
        if_: Callable[[E], bool] = _always,
    ) -> T:
        """Carry out a step, again where it fails in a way that passes.

        Args:
            step: must be safe to repeat.
            on: the errors that may pass.
            if_: says of such an error whether it does.

        Raises:
            Exception: that of the last try.
        """
        last: Exception | None = None
        for _ in self.tries():
            try:
                return step()
            except on as error:  # noqa: PERF203 - the try is the point of the loop
                if not if_(error):
                    raise
                last = error
        assert last is not None  # the first try either returned or failed
        raise last


AT_ONCE = RetryPolicy(retries=4)
"""For what is over by the time that one looks again."""

WHERE_OUTRUN = RetryPolicy(retries=4)
"""For long work on a state of a table, done again on the newest one where a commit was faster."""

CATCHING_UP = RetryPolicy(retries=49)
"""For a commit that is first brought up to what others have committed, who go on meanwhile: all of
it is far cheaper than to begin the write anew."""

COMMANDS = RetryPolicy(retries=19, total_ms=60_000, sure_retries=4)
"""For a command that is done again because another one changed what it has read. Of two commands
that change the same rows without a pause each wins half of the races, so with five tries one in
thirty would lose all of them."""

SMALL_RACES = RetryPolicy(retries=19, min_wait_ms=100, max_wait_ms=100)
"""For several processes that do the same small thing at the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Generic[T]):
    """What one thread does now."""

    items: tuple[T, ...]
    """Everything that waited, its own among it; none where another one did that as well."""
    waited: bool
    """Whether others had their turn before."""
    is_late: bool = False
    """Whether the wait was given up: another one has its turn still, for this item too where it is
    not among ``items``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long one waits for its turn, in seconds."""

    for_turn: float
    """Then an item that nobody has taken is done outside of the line."""
    for_others: float
    """Then one that another has taken is given up; more than ``for_turn``."""


@dataclass(slots=True)
class _Line(Generic[T]):
    turn: Any = field(default_factory=threading.RLock)
    """A thread that has it and wants the thing once more does not wait for itself."""
    waiting: list[T] = field(default_factory=list)
    threads: int = 0


class Turns(Generic[T]):
    """Threads of this process that want the same thing: one has it, for all that wait meanwhile.

    A child of a fork begins without anybody in line. Where one does not come back from its turn,
    the others go on without it, and those who come later form a new line.
    """

    def __init__(self, patience: Patience | None = None) -> None:
        """Begin with nobody in line.

        Args:
            patience: None: one waits for its turn however long it takes, since no turn can hang.
        """
        self._patience = patience
        self.forget()
        forgets_in_children(self)

    @contextmanager
    def turn(self, key: Hashable, item: T, *, most: int) -> Iterator[Turn[T]]:
        """Wait until nobody else has the thing, or for long.

        Args:
            key: of the thing.
            item: what is to be done with it; equal to no other one.
            most: items of one turn, at least 1; the first that wait, and its own.
        """
        with self._lock:
            line = self._lines.setdefault(key, _Line())
            line.waiting.append(item)
            line.threads += 1
        waited = False
        try:
            if not line.turn.acquire(blocking=False):
                waited = True
                left = self._waited_out(line, key, item)
                if left is not None:
                    yield Turn(items=left, waited=True, is_late=True)
                    return
            try:
                yield Turn(items=self._taken(line, item, most), waited=waited)
            finally:
                line.turn.release()
        finally:
            with self._lock:
                line.threads -= 1
                if item in line.waiting:
                    line.waiting.remove(item)
                if not line.threads and self._lines.get(key) is line:
                    del self._lines[key]

    def _waited_out(self, line: _Line[T], key: Hashable, item: T) -> tuple[T, ...] | None:
        """Wait for the turn; None: it has come.

        Else return the item, which is out of line, or nothing where another one has taken it.
        """
        if self._patience is None:
            line.turn.acquire()
            return None
        if line.turn.acquire(timeout=self._patience.for_turn):
            return None
        with self._lock:
            if self._lines.get(key) is line:
                del self._lines[key]
            if item in line.waiting:
                line.waiting.remove(item)
                return (item,)
        rest = self._patience.for_others - self._patience.for_turn
        return None if line.turn.acquire(timeout=rest) else ()

    def _taken(self, line: _Line[T], item: T, most: int) -> tuple[T, ...]:
        with self._lock:
            if item not in line.waiting:
                return ()
            taken = line.waiting[:most]
            if item not in taken:  # a lock is not given in the order in which it was asked for
                taken[-1] = item
            line.waiting = [other for other in line.waiting if other not in taken]
        return tuple(taken)

    def forget(self) -> None:
        """Begin with nobody in line."""
        self._lock = threading.Lock()
        self._lines: dict[Hashable, _Line[T]] = {}
