"""A mirror of Arctic's that follows the shop at work, and how long its commits take to be seen.

Rules: a place of the log counts as visible when the mirror has confirmed it, which it does after
all tables have committed what came before.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

import arctic
from arctic.errors import ArcticError
from benchmarks.ch.shop import KEYS, Size
from benchmarks.ch.transactions import Day

SLOT = "mirror"
LOOK_SECONDS = 0.02
END_SECONDS = 20
_PLACES = """SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint,
  (SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was measured of some work."""

    worked_seconds: float
    """For the transactions in PostgreSQL."""
    caught_up_seconds: float
    """Until all of them could be seen."""
    delays: list[float]
    """Of places of the log, from their writing to their being seen."""


class Follower:
    """A mirror in a process of its own, and the day's work beside it; ends with the context.

    Args:
        dsn: of the shop, freshly loaded.
        namespace: that gets the tables.
        warehouse: of them.
        size: of the shop.
        seed: of the day.
        limit_seconds: for a mirror to catch up.
    """

    def __init__(
        self,
        dsn: str,
        namespace: str,
        warehouse: str,
        *,
        size: Size,
        seed: int,
        limit_seconds: float,
    ) -> None:
        self._given = (dsn, namespace, warehouse)
        self._limit = limit_seconds
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._shop = psycopg.connect(dsn, autocommit=True)
        self._day = Day(self._shop, size, seed=seed)
        # Threads of this process are no part of a process that is spawned.
        self._process = multiprocessing.get_context("spawn").Process(
            target=_follow, args=self._given, daemon=True
        )

    def load(self) -> float:
        """Copy the tables, and have the mirror follow; return the seconds that the copies took.

        Raises:
            RuntimeError: the mirror failed, or did not catch up in time.
        """
        started = time.perf_counter()
        dsn, namespace, warehouse = self._given
        try:
            arctic.mirror_postgres(
                dsn, list(KEYS), into=namespace, slot=SLOT, once=True, warehouse=warehouse
            )
        except ArcticError as error:
            raise RuntimeError(f"the mirror: {error}") from error
        seconds = time.perf_counter() - started
        self._process.start()
        self._catch_up()
        return seconds

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(END_SECONDS)
        self._connection.close()
        self._shop.close()

    def work(self, count: int, meanwhile: Callable[[], None]) -> Round:
        """Carry out transactions while the mirror follows; return when it has caught up.

        Raises:
            RuntimeError: the mirror ended, or did not catch up in time.
        """
        looked: list[tuple[float, int, int]] = []
        is_over = threading.Event()
        looker = threading.Thread(target=self._look, args=(looked, is_over))
        worker = _Worker(self._day, count, self._catch_up)
        started = time.perf_counter()
        looker.start()
        worker.start()
        try:
            meanwhile()
            worker.join()
            if worker.failure is not None:
                raise worker.failure
        finally:
            is_over.set()
            looker.join()
            worker.join()
        return Round(
            worked_seconds=worker.ended - started,
            caught_up_seconds=worker.caught_up - started,
            delays=delays(looked, until=worker.target),
        )

    def _catch_up(self) -> int:
        """Wait until all that was written can be seen; return up to which place of the log."""
        target = self._places()[0]
        # The log must go on, for the mirror to confirm what lies behind.
        self._connection.execute("UPDATE region SET r_name = r_name")
        over = time.perf_counter() + self._limit
        while self._places()[1] < target:
            if not self._process.is_alive():
                raise RuntimeError(f"the mirror ended with {self._process.exitcode}")
            if time.perf_counter() > over:
                raise RuntimeError(f"the mirror is behind after {self._limit:g} s")
            time.sleep(LOOK_SECONDS)
        return target

    def _places(self) -> tuple[int, int]:
        row = self._connection.execute(_PLACES, (SLOT,)).fetchone()
        assert row is not None
        return int(row[0]), int(row[1] or 0)

    def _look(self, looked: list[tuple[float, int, int]], is_over: threading.Event) -> None:
        while not is_over.wait(LOOK_SECONDS):
            looked.append((time.perf_counter(), *self._places()))
        looked.append((time.perf_counter(), *self._places()))


def delays(looked: list[tuple[float, int, int]], *, until: int) -> list[float]:
    """Return how long each place of the log that was seen took to be visible.

    Args:
        looked: a time, the end of the log then, and what was visible then.
        until: later places do not count.

    >>> delays([(0.0, 10, 0), (1.0, 20, 10), (3.0, 20, 20), (4.0, 30, 20)], until=20)
    [1.0, 2.0]
    """
    visible = [place for _, _, place in looked]
    found = []
    last = -1
    for at, place, _ in looked:
        if last < place <= until:
            # The first look at which everything before the place could be seen.
            seen = bisect_right(visible, place - 1)
            if seen < len(looked):
                found.append(looked[seen][0] - at)
        last = max(last, place)
    return found


class _Worker(threading.Thread):
    """Works, then waits until all of it can be seen, whatever goes on beside it."""

    def __init__(self, day: Day, count: int, catch_up: Callable[[], int]) -> None:
        super().__init__()
        self._day, self._count, self._catch_up = day, count, catch_up
        self.failure: Exception | None = None
        self.ended = self.caught_up = 0.0
        self.target = 0

    def run(self) -> None:
        try:
            self._day.work(self._count)
            self.ended = time.perf_counter()
            self.target = self._catch_up()
            self.caught_up = time.perf_counter()
        except (psycopg.Error, RuntimeError) as error:
            self.failure = error


def _follow(dsn: str, namespace: str, warehouse: str) -> None:
    arctic.mirror_postgres(
        dsn, list(KEYS), into=namespace, slot=SLOT, interval_seconds=0.05, warehouse=warehouse
    )
