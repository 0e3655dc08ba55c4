"""The slots of a group: executors that take tasks from its queue, whichever table they are of.

Rules:
    - A group is one thread's at a time: who holds the condition.
    - Each executor is a thread that waits for its place. Threads are daemons: what runs when the
      process must end is cut off as by a kill, which leaves files that nothing refers to, and no
      trace in a table.
    - An executor whose place dies gives its task back, and goes on with a new place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from arctic.errors import StorageError
from arctic.job.tasks.run_tasks import Progress, Task
from arctic.service.executors.task_place import LostPlaceError, TaskPlace, ThreadPlace
from arctic.service.history.task_log import TaskLog
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.task_queue import TaskKey

T = TypeVar("T")
R = TypeVar("R")


class StoppingError(Exception):
    """The service stops, and so does the process; never leaves this folder."""


class CancelledError(Exception):
    """Somebody cancelled the process; never leaves this folder."""


@dataclass(slots=True)
class _Work:
    """The tasks of a process, and what came of them."""

    work: Callable[[Any], Any]
    tasks: Sequence[Task[Any]]
    log: TaskLog | None
    results: dict[int, Any] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    is_over: bool = False


class Slots:
    """The executors of one group."""

    def __init__(
        self,
        name: str,
        group: Group,
        changed: threading.Condition,
        now_ms: Callable[[], int],
        new_place: Callable[[], TaskPlace] = ThreadPlace,
    ) -> None:
        self._name = name
        self._group = group
        self._changed = changed
        self._now_ms = now_ms
        self._new_place = new_place
        self._works: dict[str, _Work] = {}
        self._cancelled: set[str] = set()
        self._places: dict[int, TaskPlace] = {}
        self._stops = False
        with changed:
            self.fill()

    def fill(self) -> None:
        """Have as many executors as the group has slots; the caller holds the condition.

        Those that are too many end with their tasks.
        """
        for number in range(self._group.slots):
            if number not in self._places:
                self._places[number] = self._new_place()
                threading.Thread(
                    target=self._serve,
                    args=(number,),
                    name=f"arctic-{self._name}-{number}",
                    daemon=True,
                ).start()
        self._changed.notify_all()

    def run(
        self,
        table: str,
        work: Callable[[T], R],
        tasks: Sequence[Task[T]],
        progress: Progress,
        title: str,
        log: TaskLog | None = None,
    ) -> list[R]:
        """Do the work for each task of a process that has begun; as ``TaskRunner.run``."""
        if not tasks:
            return []
        mine = _Work(work=work, tasks=tasks, log=log)
        progress.begin(title, tasks=len(tasks), rows=sum(task.rows for task in tasks))
        try:
            self._carry_out(table, mine)
        finally:
            progress.end()
        if mine.errors:
            raise mine.errors[0]
        if len(mine.results) < len(tasks):
            raise StoppingError
        return [mine.results[number] for number in range(len(tasks))]

    def _carry_out(self, table: str, mine: _Work) -> None:
        with self._changed:
            if self._stops:
                raise StoppingError
            if table not in self._cancelled:
                self._works[table] = mine
                self._group.planned(table, [task.rows for task in mine.tasks])
                self._changed.notify_all()
                self._changed.wait_for(lambda: mine.is_over)
                del self._works[table]
            if table in self._cancelled:
                raise CancelledError

    def cancel(self, table: str) -> None:
        """Begin no task of a table any more; the caller holds the condition."""
        self._cancelled.add(table)
        self._cut(table)

    def ended(self, table: str) -> None:
        """Take note that the process of a table is over; the caller holds the condition."""
        self._cancelled.discard(table)

    def stop(self) -> None:
        """Begin no task any more; the caller holds the condition."""
        self._stops = True
        for table in self._works:
            self._cut(table)
        self._changed.notify_all()

    def close(self) -> None:
        """Cut off what runs, where that can be done."""
        with self._changed:
            places = list(self._places.values())
        for place in places:
            place.close()

    def _cut(self, table: str) -> None:
        work = self._works.get(table)
        if work is not None:
            work.is_over = self._group.cancel(table)
        self._changed.notify_all()

    def _serve(self, number: int) -> None:
        executor = f"{self._name}-{number}"
        place = self._places[number]
        while (key := self._next(number, executor)) is not None:
            mine = self._works[key.table]
            task = mine.tasks[key.number]
            if mine.log is not None:
                mine.log.began(key.number, executor, task.rows)
            result, error = None, None
            try:
                result = place.run(mine.work, task)
            except BaseException as failure:  # noqa: BLE001 - raised where the process waits
                error = failure
            self._end(executor, key, mine, result, error)
        place.close()

    def _next(self, number: int, executor: str) -> TaskKey | None:
        """Wait for a task; None: the executor is needed no more."""
        with self._changed:
            while True:
                if number < self._group.slots:
                    key = self._group.take(executor, self._now_ms())
                    if key is not None:
                        return key
                if self._stops or number >= self._group.slots:
                    del self._places[number]
                    return None
                self._changed.wait()

    def _end(
        self, executor: str, key: TaskKey, mine: _Work, result: Any, error: BaseException | None
    ) -> None:
        with self._changed:
            now_ms = self._now_ms()
            is_lost = isinstance(error, LostPlaceError) and not self._stops
            if is_lost:
                ended = next(iter(self._group.lose(executor, now_ms)), None)
            else:
                ended = self._group.end_task(executor, key, now_ms, is_good=error is None)
            log, used_ms = mine.log, 0 if ended is None else ended.used_ms
            if log is not None:
                if error is None:
                    log.ended(key.number, executor, result, used_ms)
                else:
                    log.failed(key.number, executor, error, used_ms, is_lost=is_lost)
            if error is None:
                mine.results[key.number] = result
            elif not isinstance(error, LostPlaceError):
                mine.errors.append(error)
            elif is_lost and ended is not None and not ended.is_good:
                mine.errors.append(_fatal(key, error))
            if ended is not None and ended.process_over:
                mine.is_over = True
            self._changed.notify_all()


def _fatal(key: TaskKey, error: LostPlaceError) -> StorageError:
    return StorageError(
        f"task {key.number} of table {key.table!r} cost three executors, the last: {error}; "
        "expected one to live through it; look for a lack of memory"
    )


@dataclass(frozen=True, slots=True)
class SlotRunner:
    """Runs the tasks of one table in the slots of its group."""

    table: str
    slots: Slots
    parallelism: int
    log: TaskLog | None = None

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Do the work for each task; raises as ``TaskRunner.run``, and when the service stops."""
        return self.slots.run(self.table, work, tasks, progress, title, self.log)
