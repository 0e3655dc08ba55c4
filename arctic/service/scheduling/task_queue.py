"""Processes: the tasks of one run of one table, and who carries them out.

Rules:
    - The process that came first is finished first, its heaviest task at the beginning.
    - A task that fails ends its process: nothing of it is given out any more, and it is over once
      the tasks that run have ended.
    - An executor that dies gives its tasks back. A task that has cost three executors is taken to
      be what kills them, and fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_MOST_LOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKey:
    """One task of one process."""

    table: str
    number: int
    """Its place among the tasks as they were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """What the end of a task means."""

    table: str
    used_ms: int
    """Slot time that it took, whatever came of it."""
    process_over: bool
    """Nothing of the process runs or waits any more."""
    is_good: bool
    """Every task of the process so far has been done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTask:
    """A task that an executor has."""

    executor: str
    table: str
    number: int
    since_ms: int


@dataclass(slots=True)
class _Process:
    waiting: list[int]
    """The next one last."""
    running: set[int] = field(default_factory=set)
    lost: dict[int, int] = field(default_factory=dict)
    is_good: bool = True


class TaskQueue:
    """The processes of one group."""

    def __init__(self) -> None:
        self._processes: dict[str, _Process] = {}
        self._held: dict[str, dict[TaskKey, int]] = {}

    @property
    def waiting(self) -> int:
        """How many tasks nobody has taken."""
        return sum(len(process.waiting) for process in self._processes.values())

    @property
    def running(self) -> int:
        """How many tasks executors have."""
        return sum(len(process.running) for process in self._processes.values())

    def held(self) -> list[HeldTask]:
        """Return who has which task, by executor."""
        return [
            HeldTask(executor=executor, table=key.table, number=key.number, since_ms=began_ms)
            for executor, tasks in sorted(self._held.items())
            for key, began_ms in tasks.items()
        ]

    def is_running(self, table: str) -> bool:
        """Say whether executors have tasks of a table."""
        process = self._processes.get(table)
        return process is not None and bool(process.running)

    def add(self, table: str, weights: Sequence[int]) -> None:
        """Add a process; a table has one at a time, and it has a task.

        Args:
            table: what it works on.
            weights: of its tasks.
        """
        order = sorted(range(len(weights)), key=lambda number: (weights[number], -number))
        self._processes[table] = _Process(waiting=order)

    def take(self, executor: str, now_ms: int) -> TaskKey | None:
        """Give an executor a task; None: there is none."""
        for table, process in self._processes.items():
            if process.waiting:
                key = TaskKey(table=table, number=process.waiting.pop())
                process.running.add(key.number)
                self._held.setdefault(executor, {})[key] = now_ms
                return key
        return None

    def end(self, executor: str, key: TaskKey, now_ms: int, *, is_good: bool) -> EndedTask | None:
        """Take note that an executor has done a task, or has failed to.

        None: it was taken for dead, and the task is another's now; what it made counts for nothing.
        """
        began_ms = self._held.get(executor, {}).pop(key, None)
        if began_ms is None:
            return None
        return self._ended(key, _passed_ms(began_ms, now_ms), is_good=is_good)

    def lose(self, executor: str, now_ms: int) -> tuple[EndedTask, ...]:
        """Take the tasks of an executor back that has died."""
        ended = []
        for key, began_ms in self._held.pop(executor, {}).items():
            process = self._processes[key.table]
            process.lost[key.number] = process.lost.get(key.number, 0) + 1
            can_retry = process.is_good and process.lost[key.number] < _MOST_LOST
            if can_retry:
                process.waiting.append(key.number)
            ended.append(self._ended(key, _passed_ms(began_ms, now_ms), is_good=can_retry))
        return tuple(ended)

    def cancel(self, table: str) -> bool:
        """Give out nothing more of a process; true: it is over, as nothing of it runs."""
        process = self._processes.get(table)
        if process is None:
            return True
        process.waiting.clear()
        process.is_good = False
        if not process.running:
            del self._processes[table]
        return not process.running

    def _ended(self, key: TaskKey, used_ms: int, *, is_good: bool) -> EndedTask:
        process = self._processes[key.table]
        process.running.discard(key.number)
        if not is_good:
            process.is_good = False
            process.waiting.clear()
        is_over = not process.running and not process.waiting
        if is_over:
            del self._processes[key.table]
        return EndedTask(
            table=key.table, used_ms=used_ms, process_over=is_over, is_good=process.is_good
        )


def _passed_ms(began_ms: int, now_ms: int) -> int:
    """Return the slot time of a task; none where the clock was set back by more than it took."""
    return max(0, now_ms - began_ms)
