"""Virtual time: commits, reads, looks, tasks and deaths, one after the other from a heap.

Rules:
    - Every decision is that of a `Group`; here is only what a service would do with its answers.
    - The same seed gives every scheduler the same commits, reads and deaths at the same times:
      each table has its own luck, so that what is done with one changes nothing for another.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.ranks import Scheduler
from arctic.service.scheduling.table_queue import Start
from arctic.service.scheduling.table_state import Phase
from arctic.service.scheduling.task_queue import EndedTask, TaskKey
from arctic.service.watching.told_reads import ReadRate
from simulation.model import HOUR_MS, MIB, SimTable

_LOOK_MS = 180_000
_WAKE_MS = 5_000
_TASK_BYTES = 256 * MIB
_DEATHS_PER_HOUR = 1.0
_AWAY_MS = 300_000
_FAILING_TASKS = 0.005
Pace = Callable[[int], float]
"""Of the writers at a time: 1 is the usual one."""


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
    """Of each process, before it began, fulls not counted."""
    fulls_ms: list[int] = field(default_factory=list)
    """Of each full."""
    longest_ms: dict[str, int] = field(default_factory=dict)
    """Slot time of the longest process of each table."""
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
    """How long each takes."""
    fails: bool


class Clockwork:
    """One group, its tables and its executors."""

    def __init__(
        self,
        tables: Sequence[SimTable],
        scheduler: Scheduler,
        *,
        slots: int,
        pace: Pace,
        most_pace: float,
        seed: int,
    ) -> None:
        self._tables = {table.name: table for table in tables}
        self._group = Group(scheduler, slots=slots)
        self._pace = pace
        self._most_pace = most_pace
        self._seed = seed
        self._deaths = random.Random(seed)
        self._rates = {name: ReadRate(since_ms=0) for name in self._tables}
        self._heap: list[tuple[int, int, Callable[[int], None]]] = []
        self._number = 0
        self._idle = [f"e{number}" for number in range(slots)]
        self._dead: set[str] = set()
        self._runs: dict[str, _Run] = {}
        self._begun: dict[str, int] = {}
        self._spent: dict[str, int] = {}
        self._slots = slots
        self._life = dict.fromkeys(self._idle, 0)
        self.day = Day()

    def run(self, hours: float) -> Day:
        """Let hours go by."""
        end_ms = int(hours * HOUR_MS)
        for table in self._tables.values():
            self._let_write(table, random.Random(f"{self._seed} writes {table.name}"))
            self._let_read(table, random.Random(f"{self._seed} reads {table.name}"))
        self._at(0, self._look)
        self._at(_WAKE_MS, self._wake)
        self._at(HOUR_MS, self._note)
        self._at(self._until_death(), self._die)
        while self._heap and self._heap[0][0] <= end_ms:
            now_ms, _, happen = heapq.heappop(self._heap)
            happen(now_ms)
        self.day.waits_ms += self._still_waiting(end_ms)
        self.day.slots_used = sum(self.day.used_ms.values()) / (self._slots * end_ms)
        return self.day

    def _still_waiting(self, now_ms: int) -> Iterator[int]:
        for state in filter(None, map(self._group.state, self._tables)):
            is_pending = state.phase(now_ms, stretched=1) is Phase.PENDING
            if is_pending and state.outlook.due is not OptimizeType.FULL:
                yield now_ms - state.waits_since_ms(now_ms)

    def _at(self, when_ms: int, happen: Callable[[int], None]) -> None:
        self._number += 1
        heapq.heappush(self._heap, (when_ms, self._number, happen))

    def _let_write(self, table: SimTable, chance: random.Random) -> None:
        def commit(now_ms: int) -> None:
            if now_ms and chance.random() * self._most_pace < self._pace(now_ms):
                table.commit(now_ms)
            gap_hours = chance.expovariate(table.commits_per_hour * self._most_pace)
            self._at(now_ms + 1 + int(gap_hours * HOUR_MS), commit)

        commit(0)

    def _let_read(self, table: SimTable, chance: random.Random) -> None:
        if not table.reads_per_hour:
            return

        def read(now_ms: int) -> None:
            if now_ms:
                table.read()
                if chance.random() < table.told_share:
                    self._rates[table.name] = self._rates[table.name].told(now_ms)
            gap_hours = chance.expovariate(table.reads_per_hour)
            self._at(now_ms + 1 + int(gap_hours * HOUR_MS), read)

        read(0)

    def _look(self, now_ms: int) -> None:
        for table in self._tables.values():
            if table.is_new_to_look(now_ms):
                self._look_at(table, now_ms)
        self._at(now_ms + _LOOK_MS, self._look)
        self._dispatch(now_ms)

    def _look_at(self, table: SimTable, now_ms: int) -> None:
        normal = table.outlook(now_ms, with_full=True)
        in_peak = normal
        if normal.due is OptimizeType.FULL:
            in_peak = table.outlook(now_ms, with_full=False)
        rate = self._rates[table.name].per_hour(now_ms)
        terms = replace(table.terms, reads_per_hour=rate)
        self._group.looked(table.name, terms, normal, in_peak, now_ms)
        table.looked(now_ms)

    def _wake(self, now_ms: int) -> None:
        self._at(now_ms + _WAKE_MS, self._wake)
        self._dispatch(now_ms)

    def _note(self, now_ms: int) -> None:
        lags = [now_ms - each.oldest_ms for each in self._tables.values() if each.oldest_ms]
        self.day.hours.append(
            Hour(
                stretched=self._group.stretched(now_ms),
                lag_minutes=sum(lags) / max(1, len(self._tables)) / 60_000,
                pending=self._group.pending(now_ms),
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
        outlook = table.outlook(now_ms, with_full=not start.is_peak)
        is_full = start.outlook.due is OptimizeType.FULL
        (self.day.fulls_ms if is_full else self.day.waits_ms).append(start.waited_ms)
        if outlook.due is None:
            self._group.end_process(start.name, now_ms, is_good=True)
            return
        count = max(1, -(-outlook.work_bytes // _TASK_BYTES))
        chance = random.Random(f"{self._seed} run {self._begun.get(start.name, 0)} {start.name}")
        self._begun[start.name] = self._begun.get(start.name, 0) + 1
        mean_ms = outlook.work_ms / count * table.work_factor
        tasks = tuple(max(1, int(mean_ms * chance.uniform(0.7, 1.3))) for _ in range(count))
        self._runs[start.name] = _Run(
            outlook.due,
            table.files,
            tasks,
            table.is_poisoned or chance.random() < _FAILING_TASKS * count,
        )
        self._group.planned(start.name, tasks)

    def _begin_task(self, executor: str, key: TaskKey, now_ms: int) -> None:
        life = self._life[executor]
        run = self._runs[key.table]
        is_good = not (run.fails and key.number == 0)

        def end(at_ms: int) -> None:
            if self._life[executor] != life:
                return  # The executor has died over it.
            self._idle.append(executor)
            ended = self._group.end_task(executor, key, at_ms, is_good=is_good)
            if ended is not None:
                self._ended(ended, at_ms)
            self._dispatch(at_ms)

        self._at(now_ms + run.tasks[key.number], end)

    def _ended(self, ended: EndedTask, now_ms: int) -> None:
        name = ended.table
        self.day.used_ms[name] = self.day.used_ms.get(name, 0) + ended.used_ms
        self._spent[name] = self._spent.get(name, 0) + ended.used_ms
        if not ended.process_over:
            return
        self.day.longest_ms[name] = max(self.day.longest_ms.get(name, 0), self._spent.pop(name))
        run, table = self._runs.pop(name), self._tables[name]
        if ended.is_good:
            table.optimized(run.kind, run.files, now_ms)
            self.day.runs[name] = self.day.runs.get(name, 0) + 1
        else:
            self.day.failures += 1
        self._group.end_process(name, now_ms, is_good=ended.is_good)
        self._look_at(table, now_ms)

    def _die(self, now_ms: int) -> None:
        alive = sorted(self._life.keys() - self._dead)
        if len(alive) > 1:
            executor = self._deaths.choice(alive)
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
        return max(1, int(self._deaths.expovariate(_DEATHS_PER_HOUR) * HOUR_MS))
