"""Virtual time: looks, processes, tasks and deaths, one after the other from a heap.

Rules:
    - Every decision is that of a `Group`; here is only what a service would do with its answers.
    - The same seed gives the same day.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.ranks import Scheduler
from arctic.service.scheduling.table_queue import Start
from arctic.service.scheduling.task_queue import EndedTask, TaskKey
from simulation.model import HOUR_MS, MIB, SimTable

_WAKE_MS = 30_000
_TASK_BYTES = 256 * MIB
_BYTES_PER_MS = 50 * MIB // 1_000
_DEATHS_PER_HOUR = 1.0
_AWAY_MS = 300_000
_FAILING_TASKS = 0.005
Pace = Callable[[int], float]
"""Of the writers at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """What an hour was like at its end."""

    stretched: float
    lag_minutes: float
    """How long ago, in the mean of all tables, the first commit came that base does not hold."""
    pending: int


@dataclass(slots=True, kw_only=True)
class Day:
    """What happened."""

    waits_ms: list[int] = field(default_factory=list)
    """Of each process, before it began."""
    runs: dict[str, int] = field(default_factory=dict)
    """Good ones of each table."""
    failures: int = 0
    deaths: int = 0
    used_ms: dict[str, int] = field(default_factory=dict)
    hours: list[Hour] = field(default_factory=list)
    slots_used: float = 0.0
    """Share of the slot time."""


@dataclass(frozen=True, slots=True)
class _Run:
    kind: OptimizeType
    files: int
    tasks: tuple[int, ...]


class Clockwork:
    """One group, its tables and its executors."""

    def __init__(
        self,
        tables: Sequence[SimTable],
        scheduler: Scheduler,
        *,
        slots: int,
        pace: Pace,
        look_ms: int,
        seed: int,
    ) -> None:
        self._tables = {table.name: table for table in tables}
        self._group = Group(scheduler, slots=slots)
        self._pace = pace
        self._look_ms = look_ms
        self._random = random.Random(seed)
        self._heap: list[tuple[int, int, Callable[[int], None]]] = []
        self._number = 0
        self._idle = [f"e{number}" for number in range(slots)]
        self._dead: set[str] = set()
        self._runs: dict[str, _Run] = {}
        self._slots = slots
        self._life = dict.fromkeys(self._idle, 0)
        self.day = Day()

    def run(self, hours: float) -> Day:
        """Let hours go by."""
        end_ms = int(hours * HOUR_MS)
        self._at(0, self._look)
        self._at(_WAKE_MS, self._wake)
        self._at(HOUR_MS, self._note)
        self._at(self._until_death(), self._die)
        while self._heap and self._heap[0][0] <= end_ms:
            now_ms, _, happen = heapq.heappop(self._heap)
            happen(now_ms)
        for table in self._tables.values():
            table.advance(end_ms, self._pace(end_ms))
        self.day.waits_ms.append(self._group.longest_wait_ms(end_ms))
        self.day.slots_used = sum(self.day.used_ms.values()) / (self._slots * end_ms)
        return self.day

    def _at(self, when_ms: int, happen: Callable[[int], None]) -> None:
        self._number += 1
        heapq.heappush(self._heap, (when_ms, self._number, happen))

    def _look(self, now_ms: int) -> None:
        pace = self._pace(now_ms)
        for name, table in self._tables.items():
            table.advance(now_ms, pace)
            normal = table.outlook(now_ms, with_full=True)
            in_peak = normal
            if normal.due is OptimizeType.FULL:
                in_peak = table.outlook(now_ms, with_full=False)
            self._group.looked(name, table.terms, normal, in_peak, now_ms)
        self._at(now_ms + self._look_ms, self._look)
        self._dispatch(now_ms)

    def _wake(self, now_ms: int) -> None:
        self._at(now_ms + _WAKE_MS, self._wake)
        self._dispatch(now_ms)

    def _note(self, now_ms: int) -> None:
        lags = [now_ms - each.oldest_ms for each in self._tables.values() if each.oldest_ms]
        self.day.hours.append(
            Hour(
                stretched=self._group.stretched(now_ms),
                lag_minutes=sum(lags) / max(1, len(self._tables)) / 60_000,
                pending=len(lags),
            )
        )
        self._at(now_ms + HOUR_MS, self._note)

    def _dispatch(self, now_ms: int) -> None:
        while self._idle:
            key = self._group.take(self._idle[-1], now_ms)
            if key is not None:
                self._begin_task(self._idle.pop(), key, now_ms)
                continue
            start = self._group.begin(now_ms)
            if start is None:
                return
            self._plan(start, now_ms)

    def _plan(self, start: Start, now_ms: int) -> None:
        table = self._tables[start.name]
        table.advance(now_ms, self._pace(now_ms))
        outlook = table.outlook(now_ms, with_full=not start.is_peak)
        self.day.waits_ms.append(start.waited_ms)
        if outlook.due is None:
            self._group.end_process(start.name, now_ms, is_good=True)
            return
        count = max(1, -(-outlook.work_bytes // _TASK_BYTES))
        tasks = (outlook.work_ms // count,) * count
        self._runs[start.name] = _Run(outlook.due, int(table.files), tasks)
        self._group.planned(start.name, tasks)

    def _begin_task(self, executor: str, key: TaskKey, now_ms: int) -> None:
        life = self._life[executor]
        planned_ms = self._runs[key.table].tasks[key.number]
        is_good = not self._tables[key.table].is_poisoned
        is_good = is_good and self._random.random() >= _FAILING_TASKS

        def end(at_ms: int) -> None:
            if self._life[executor] != life:
                return  # The executor has died over it.
            self._idle.append(executor)
            ended = self._group.end_task(executor, key, at_ms, is_good=is_good)
            if ended is not None:
                self._ended(ended, at_ms)
            self._dispatch(at_ms)

        self._at(now_ms + max(1, int(planned_ms * self._random.uniform(0.7, 1.5))), end)

    def _ended(self, ended: EndedTask, now_ms: int) -> None:
        name = ended.table
        self.day.used_ms[name] = self.day.used_ms.get(name, 0) + ended.used_ms
        if not ended.process_over:
            return
        run = self._runs.pop(name)
        if ended.is_good:
            table = self._tables[name]
            table.advance(now_ms, self._pace(now_ms))
            table.optimized(run.kind, run.files, now_ms)
            self.day.runs[name] = self.day.runs.get(name, 0) + 1
        else:
            self.day.failures += 1
        self._group.end_process(name, now_ms, is_good=ended.is_good)

    def _die(self, now_ms: int) -> None:
        alive = sorted(self._life.keys() - self._dead)
        if len(alive) > 1:
            executor = self._random.choice(alive)
            self._dead.add(executor)
            self._life[executor] += 1
            if executor in self._idle:
                self._idle.remove(executor)
            self._group.slots -= 1
            self.day.deaths += 1
            for ended in self._group.lose(executor, now_ms):
                self._ended(ended, now_ms)
            self._at(now_ms + _AWAY_MS, lambda at_ms: self._come_back(executor, at_ms))
        self._at(now_ms + self._until_death(), self._die)
        self._dispatch(now_ms)

    def _come_back(self, executor: str, now_ms: int) -> None:
        self._dead.discard(executor)
        self._idle.append(executor)
        self._group.slots += 1
        self._dispatch(now_ms)

    def _until_death(self) -> int:
        return max(1, int(self._random.expovariate(_DEATHS_PER_HOUR) * HOUR_MS))
