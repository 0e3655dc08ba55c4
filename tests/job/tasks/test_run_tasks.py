"""Running tasks in threads."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from arctic.errors import InternalError, InvalidInputError, NotFoundError
from arctic.job.tasks.run_tasks import LocalRunner, Task


@dataclass
class Told:
    """A progress that remembers what it was told."""

    calls: list[Any] = field(default_factory=list)

    def begin(self, title: str, *, tasks: int, rows: int) -> None:
        """Remember."""
        self.calls.append(("begin", title, tasks, rows))

    def advance(self, *, tasks: int, rows: int) -> None:
        """Remember."""
        self.calls.append((tasks, rows))

    def end(self) -> None:
        """Remember."""
        self.calls.append("end")


def _tasks(*rows: int) -> list[Task[int]]:
    return [Task(value=number, rows=weight) for number, weight in enumerate(rows)]


def _run(work: Any, tasks: list[Task[int]], *, parallelism: int, told: Told | None = None) -> Any:
    return LocalRunner(parallelism).run(work, tasks, title="t", progress=told or Told())


def test_results_come_in_the_order_of_the_tasks() -> None:
    """Whichever task is done first."""

    def work(value: int) -> int:
        time.sleep(0.02 * (5 - value))
        return value * value

    assert _run(work, _tasks(1, 2, 3, 4, 5), parallelism=5) == [0, 1, 4, 9, 16]


def test_no_more_tasks_run_at_a_time_than_were_allowed() -> None:
    """But as many: the first three can only go on together."""
    lock, together = threading.Lock(), threading.Barrier(3, timeout=10)
    running, most = 0, 0

    def work(value: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    _run(work, _tasks(*[1] * 12), parallelism=3)

    assert most == 3


def test_heavy_tasks_begin_first() -> None:
    """Among equals the earlier one, so that the order is defined."""
    begun: list[int] = []

    _run(begun.append, _tasks(1, 7, 3, 7), parallelism=1)

    assert begun == [1, 3, 2, 0]


def test_a_failure_arrives_as_it_was_raised_and_nothing_begins_after_it() -> None:
    """Not even in a thread that is free before the failure was noticed elsewhere."""
    error, failed, begun = NotFoundError("file 'a'"), threading.Event(), []
    together = threading.Barrier(2, timeout=10)

    def work(value: int) -> None:
        begun.append((value, failed.is_set()))
        if value < 2:
            together.wait()
        if value == 1:
            failed.set()
            raise error
        failed.wait(10)
        time.sleep(0.05)

    with pytest.raises(NotFoundError) as caught:
        _run(work, _tasks(9, 8, 7, 6, 5), parallelism=2)

    assert caught.value is error
    assert sorted(begun) == [(0, False), (1, False)]


def test_the_first_of_several_failures_is_raised() -> None:
    """First in time; the later ones may only be its consequences."""
    first_failed = threading.Event()

    def work(value: int) -> None:
        if value == 0:
            first_failed.wait(10)
            time.sleep(0.05)
            raise ValueError("second")
        first_failed.set()
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        _run(work, _tasks(2, 1), parallelism=2)


def test_an_interrupt_cancels_what_has_not_begun() -> None:
    """It arrives in the thread that waits, here while it tells the progress."""
    begun, second_begun, go_on = [], threading.Event(), threading.Event()

    class Interrupted(Told):
        def advance(self, *, tasks: int, rows: int) -> None:
            second_begun.wait(10)
            threading.Timer(0.1, go_on.set).start()
            raise KeyboardInterrupt

    def work(value: int) -> None:
        begun.append(value)
        if value == 1:
            second_begun.set()
            go_on.wait(10)

    told = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        _run(work, _tasks(*[1] * 10), parallelism=1, told=told)

    assert begun == [0, 1]
    assert told.calls[-1] == "end"


def test_progress_goes_up_to_everything() -> None:
    """Totals, so that a lost call would not matter."""
    told = Told()

    _run(str, _tasks(5, 0, 3, 2), parallelism=2, told=told)
    begin, *steps, end = told.calls

    assert begin == ("begin", "t", 4, 10)
    assert end == "end"
    assert steps == sorted(set(steps))
    assert steps[-1] == (4, 10)


def test_progress_ends_after_a_failure() -> None:
    """A bar must not stay on the terminal."""
    told = Told()

    with pytest.raises(ZeroDivisionError):
        _run(lambda value: 1 // value, _tasks(1), parallelism=1, told=told)

    assert told.calls == [("begin", "t", 1, 1), "end"]


def test_without_tasks_nothing_happens() -> None:
    """No thread, no bar."""
    told = Told()

    assert _run(str, [], parallelism=1, told=told) == []
    assert told.calls == []


def test_what_cannot_run_is_refused() -> None:
    """A weight below nothing, and nothing at a time."""
    with pytest.raises(InternalError, match="-1 rows"):
        Task(value=0, rows=-1)
    with pytest.raises(InvalidInputError, match="parallelism 0"):
        LocalRunner(0)
