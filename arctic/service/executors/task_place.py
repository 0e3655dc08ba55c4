"""The place of one executor, which does one task after another.

Rules:
    - A place that dies raises ``LostPlaceError``, and its task is given to another. Any other error
      is the task's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import LostRunnerError, Task, TaskRunner


class LostPlaceError(Exception):
    """The place of a task died; never leaves the service."""


class TaskPlace(Protocol):
    """Does tasks, one at a time."""

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Do the work for a task.

        Raises:
            LostPlaceError: the place died; the next task begins a new one.
        """

    def close(self) -> None:
        """Let go of it; a task that runs is cut off where that can be done."""


class ThreadPlace:
    """The thread that calls."""

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Do it here."""
        return work(task.value)

    def close(self) -> None:
        """Do nothing: a thread cannot be cut off."""


@dataclass(frozen=True, slots=True)
class RunnerPlace:
    """One place of a cluster, as a runner offers it."""

    runner: TaskRunner
    lost: Callable[[LostRunnerError], None]
    """Is told that the cluster is there no more; no new place mends that."""

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Let the runner do it; the cluster looks after its own executors."""
        try:
            (result,) = self.runner.run(
                work, [task], title="arctic service", progress=SilentProgress()
            )
        except LostRunnerError as error:
            self.lost(error)
            raise
        return result

    def close(self) -> None:
        """Do nothing: the runner is its owner's."""
