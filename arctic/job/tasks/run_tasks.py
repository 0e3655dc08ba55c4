"""Independent tasks, run in this process or wherever a runner takes them.

Rules:
    - Results come in the order of the tasks, whatever order they ran in.
    - Heavy tasks start first, so that none of them is left to run alone at the end.
    - Progress is told from the thread that called ``run``, and only ever goes up.

Must not know: what a task does, Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from arctic.errors import InternalError, InvalidInputError, StorageError
from arctic.machine_memory import memory_bytes
from arctic.options import default_parallelism

T = TypeVar("T")
R = TypeVar("R")

_TASK_BYTES = 512 * 2**20
"""For each task, of what a process may take: in a container of 1 GiB two run, on any cores."""


class LostRunnerError(StorageError):
    """Whoever runs tasks has ended: none can be run but by another runner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[T]):
    """One piece of work that needs none of the others."""

    value: T
    """What the work is given; pickles."""
    rows: int
    """Rows it is planned to go through: its weight, and the measure of progress."""

    def __post_init__(self) -> None:
        """Refuse what cannot be a weight."""
        if self.rows < 0:
            raise InternalError(f"task of {self.rows} rows; expected 0 or more")


class Progress(Protocol):
    """Is told what is done; decides nothing."""

    def begin(self, title: str, *, tasks: int, rows: int) -> None:
        """Take note of what is to be done in all."""

    def advance(self, *, tasks: int, rows: int) -> None:
        """Take note of what is done so far: totals, never less than before."""

    def end(self) -> None:
        """Take note that nothing more will come, done or failed."""


class TaskRunner(Protocol):
    """Runs tasks somewhere."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at the same time."""

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Do the work for each task.

        Args:
            work: pickles, and so does what it returns.
            tasks: in any order; none of them may need another.
            title: what the user sees of it.
            progress: told between a ``begin`` and an ``end``; not at all without tasks.

        Returns:
            The results in the order of the tasks.

        Raises:
            LostRunnerError: this runner has ended, and runs no task any more.
            ArcticError: the first failure of a task, as it was raised, after the other tasks were
                cancelled as far as possible.
        """


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs tasks in threads of this process, which is enough where pyarrow does the work."""

    parallelism: int
    """Tasks that run at the same time, at least 1."""

    def __post_init__(self) -> None:
        """Refuse to run nothing at a time."""
        if self.parallelism < 1:
            raise InvalidInputError(f"parallelism {self.parallelism}; expected 1 or more")

    @classmethod
    def of_this_machine(cls) -> LocalRunner:
        """Return one that keeps the cores busy, as far as there is memory for that."""
        return cls(max(1, min(default_parallelism(), memory_bytes() // _TASK_BYTES)))

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Do the work for each task; after a failure or an interrupt none is begun any more."""
        if not tasks:
            return []
        progress.begin(title, tasks=len(tasks), rows=sum(task.rows for task in tasks))
        try:
            return self._run(work, tasks, progress)
        finally:
            progress.end()

    def _run(self, work: Callable[[T], R], tasks: Sequence[Task[T]], progress: Progress) -> list[R]:
        once = _UntilFailure(work=work)
        done_tasks, done_rows = 0, 0
        with ThreadPoolExecutor(min(self.parallelism, len(tasks))) as pool:
            try:
                futures: dict[Future[R], int] = {
                    pool.submit(once.run, tasks[number].value): number
                    for number in heaviest_first(tasks)
                }
                left = set(futures)
                while left and not once.failed:
                    done, left = wait(left, return_when=FIRST_COMPLETED)
                    finished = [future for future in done if _has_result(future)]
                    if finished:
                        done_tasks += len(finished)
                        done_rows += sum(tasks[futures[future]].rows for future in finished)
                        progress.advance(tasks=done_tasks, rows=done_rows)
            finally:
                # Also after an interrupt: what runs cannot be stopped, the rest does not begin.
                once.stop()
        if once.failed:
            raise once.failed[0]
        return [future.result() for future in sorted(futures, key=futures.__getitem__)]


def heaviest_first(tasks: Sequence[Task[T]]) -> list[int]:
    """Return the numbers of the tasks in the order in which they are best begun.

    >>> heaviest_first([Task(value="a", rows=1), Task(value="b", rows=9), Task(value="c", rows=1)])
    [1, 0, 2]
    """
    return sorted(range(len(tasks)), key=lambda number: -tasks[number].rows)


@dataclass(slots=True, kw_only=True)
class _UntilFailure(Generic[T, R]):
    """Work that is refused once some of it has failed.

    The threads look themselves: until the thread that waits for them has cancelled what is queued,
    they could have begun it.
    """

    work: Callable[[T], R]
    failed: list[BaseException] = field(default_factory=list)
    """In the order of time."""
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, value: T) -> R:
        if self._stopped.is_set():
            raise _NotBegunError
        try:
            return self.work(value)
        except BaseException as error:
            self.failed.append(error)
            self.stop()
            raise

    def stop(self) -> None:
        self._stopped.set()


class _NotBegunError(Exception):
    """Takes the place of a result; never leaves this module."""


def _has_result(future: Future[R]) -> bool:
    return future.exception() is None
