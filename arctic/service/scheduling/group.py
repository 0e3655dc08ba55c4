"""A group of tables and of executors: the whole of what is decided, in one place.

What drives it tells it events with their times, and does what it answers: a service with threads
and a clock, or a simulation. Its only memory is what it was told.

Strategy: a process that has begun is finished first, for its work counts for nothing before its
commit. Only where an executor would be idle is the next table chosen, and planned. A process of
which nothing has been heard for ten minutes, and that has no task at work, takes no room: it may
hang for ever.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from arctic.service.scheduling.outlook import Outlook
from arctic.service.scheduling.ranks import WINDOW_MS, Scheduler
from arctic.service.scheduling.slot_usage import SlotUsage
from arctic.service.scheduling.table_queue import Queued, Start, TableQueue
from arctic.service.scheduling.table_state import TableState, TableTerms
from arctic.service.scheduling.task_queue import EndedTask, HeldTask, TaskKey, TaskQueue
from arctic.service.scheduling.tries import Wait

_SILENT_MS = 600_000


class Group:
    """The tables and the executors of one group."""

    def __init__(self, scheduler: Scheduler, *, slots: int, window_ms: int = WINDOW_MS) -> None:
        self.slots = slots
        """Executors that it has now."""
        self._usage = SlotUsage(window_ms)
        self._tables = TableQueue(scheduler, usage=self._usage)
        self._tasks = TaskQueue()
        self._heard: dict[str, Wait] = {}
        """Processes that have begun, and how long they take room without being heard of."""

    def looked(
        self, name: str, terms: TableTerms, normal: Outlook, in_peak: Outlook, now_ms: int
    ) -> None:
        """Take up a table, or take note of how it is now; see ``TableQueue.looked``."""
        self._tables.looked(name, terms, normal, in_peak, now_ms)

    def forget(self, name: str) -> None:
        """Drop a table; a process of it that runs is told by its end."""
        self._tables.forget(name)

    def block(self, name: str, block: Wait | None) -> None:
        """Keep a table from being worked on for some time, or no longer.

        A process of it that has begun, and has no tasks, is over.
        """
        self._heard.pop(name, None)
        self._tables.block(name, block)

    def state(self, name: str) -> TableState | None:
        """Return what is known of a table; None: nothing."""
        return self._tables.state(name)

    def stretched(self, now_ms: int) -> float:
        """Return by how much tables rest longer now; 1: there is no peak."""
        return self._tables.stretched(now_ms, slots=self.slots)

    def longest_wait_ms(self, now_ms: int) -> int:
        """Return how long the table waits that waits longest."""
        return self._tables.longest_wait_ms(now_ms)

    @property
    def busy_slots(self) -> int:
        """How many executors have a task."""
        return self._tasks.running

    def pending(self, now_ms: int) -> int:
        """Return how many tables could be worked on now."""
        return self._tables.pending(now_ms)

    def queue(self, now_ms: int) -> list[Queued]:
        """Return the tables that wait, in the order of their turns were nothing to change."""
        return self._tables.queue(now_ms, slots=self.slots)

    def held(self) -> list[HeldTask]:
        """Return which executor has which task."""
        return self._tasks.held()

    def begin(self, now_ms: int, busy: Container[str] = ()) -> Start | None:
        """Begin a process where an executor would be idle; None: there is no room, or no table.

        It takes room until ``end_process``; its tasks are told by ``planned``, if there are any.

        Args:
            now_ms: the time.
            busy: tables that something else is done with.
        """
        if self._tasks.waiting or self._room_taken(now_ms) >= self.slots:
            return None
        start = self._tables.next(now_ms, slots=self.slots, busy=busy)
        if start is not None:
            self._hear(start.name, now_ms)
        return start

    def planned(self, table: str, weights: Sequence[int]) -> None:
        """Take the tasks of a process that has begun; at least one."""
        self._tasks.add(table, weights)

    def take(self, executor: str, now_ms: int) -> TaskKey | None:
        """Give an executor that is idle a task; None: there is none."""
        return self._tasks.take(executor, now_ms)

    def end_task(
        self, executor: str, key: TaskKey, now_ms: int, *, is_good: bool
    ) -> EndedTask | None:
        """Take note that a task has ended; None: it had been taken back."""
        ended = self._tasks.end(executor, key, now_ms, is_good=is_good)
        return None if ended is None else self._counted(ended, now_ms)

    def lose(self, executor: str, now_ms: int) -> tuple[EndedTask, ...]:
        """Take back the tasks of an executor that has died."""
        return tuple(self._counted(each, now_ms) for each in self._tasks.lose(executor, now_ms))

    def cancel(self, table: str) -> bool:
        """Give out nothing more of the process of a table; true: nothing of it runs."""
        return self._tasks.cancel(table)

    def end_process(self, table: str, now_ms: int, *, is_good: bool) -> None:
        """Take note that a process is over, committed or not."""
        self._heard.pop(table, None)
        self._tables.ended(table, now_ms, is_good=is_good)

    def forgive(self, since_ms: int) -> None:
        """Forget the failures since a time, which were no fault of the tables."""
        self._tables.forgive(since_ms)

    def pardon(self, table: str) -> None:
        """Forget all failures of a table, which is no longer to be optimized by itself."""
        self._tables.pardon(table)

    def postpone(self, table: str, wait: Wait) -> None:
        """Take note that the process of a table was cancelled: it is tried again after a while."""
        self._heard.pop(table, None)
        self._tables.postpone(table, wait)

    def _room_taken(self, now_ms: int) -> int:
        return sum(
            not silence.is_over(now_ms) or self._tasks.is_running(table)
            for table, silence in self._heard.items()
        )

    def _hear(self, table: str, now_ms: int) -> None:
        self._heard[table] = Wait(since_ms=now_ms, for_ms=_SILENT_MS)

    def _counted(self, ended: EndedTask, now_ms: int) -> EndedTask:
        if ended.table in self._heard:
            self._hear(ended.table, now_ms)
        if self._tables.state(ended.table) is not None:
            self._usage.record(ended.table, ended.used_ms, now_ms)
        return ended
