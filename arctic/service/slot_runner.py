"""The slots of a group: threads that take tasks from its queue, whichever table they are of.

Rules:
    - A group is one thread's at a time: who holds the condition.
    - Threads are daemons. What runs when the process must end is cut off as by a kill, which leaves
      files that nothing refers to, and no trace in a table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from arctic.job.tasks.run_tasks import Progress, Task
from arctic.service.scheduling.group import Group

T = TypeVar("T")
R = TypeVar("R")


class StoppingError(Exception):
    """The service stops, and so does the process; never leaves this folder."""


@dataclass(slots=True)
class _Work:
    """The tasks of a process, and what came of them."""

    work: Callable[[Any], Any]
    tasks: Sequence[Task[Any]]
    results: dict[int, Any] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    is_over: bool = False


class Slots:
    """The executors of one group, in this process."""

    def __init__(
        self, name: str, group: Group, changed: threading.Condition, now_ms: Callable[[], int]
    ) -> None:
        self._group = group
        self._changed = changed
        self._now_ms = now_ms
        self._works: dict[str, _Work] = {}
        self._stops = False
        for number in range(group.slots):
            executor = f"{name}-{number}"
            threading.Thread(
                target=self._serve, args=(executor,), name=f"arctic-{executor}", daemon=True
            ).start()

    def run(
        self,
        table: str,
        work: Callable[[T], R],
        tasks: Sequence[Task[T]],
        progress: Progress,
        title: str,
    ) -> list[R]:
        """Do the work for each task of a process that has begun; as ``TaskRunner.run``."""
        if not tasks:
            return []
        mine = _Work(work=work, tasks=tasks)
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
            self._works[table] = mine
            self._group.planned(table, [task.rows for task in mine.tasks])
            self._changed.notify_all()
            self._changed.wait_for(lambda: mine.is_over)
            del self._works[table]

    def stop(self) -> None:
        """Begin no task any more; the caller holds the condition."""
        self._stops = True
        for table, work in self._works.items():
            work.is_over = self._group.cancel(table)
        self._changed.notify_all()

    def _serve(self, executor: str) -> None:
        while True:
            with self._changed:
                key = self._group.take(executor, self._now_ms())
                while key is None and not self._stops:
                    self._changed.wait()
                    key = self._group.take(executor, self._now_ms())
                if key is None:
                    return
                mine = self._works[key.table]
            result, error = None, None
            try:
                result = mine.work(mine.tasks[key.number].value)
            except BaseException as failure:  # noqa: BLE001 - raised where the process waits
                error = failure
            with self._changed:
                ended = self._group.end_task(executor, key, self._now_ms(), is_good=error is None)
                if error is None:
                    mine.results[key.number] = result
                else:
                    mine.errors.append(error)
                if ended is not None and ended.process_over:
                    mine.is_over = True
                self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class SlotRunner:
    """Runs the tasks of one table in the slots of its group."""

    table: str
    slots: Slots
    parallelism: int

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Do the work for each task; raises as ``TaskRunner.run``, and when the service stops."""
        return self.slots.run(self.table, work, tasks, progress, title)
