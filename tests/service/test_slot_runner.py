"""Slots of a group: tasks of a table in threads, their failures, and the end of the service."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import Task
from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import Outlook
from arctic.service.scheduling.ranks import balanced
from arctic.service.scheduling.table_state import TableTerms
from arctic.service.slot_runner import SlotRunner, Slots, StoppingError

PATIENCE_SECONDS = 300


class Bench:
    """A group with one table whose process has begun."""

    def __init__(self, slots: int) -> None:
        self.changed = threading.Condition()
        self.group = Group(balanced, slots=slots)
        outlook = Outlook(due=OptimizeType.MINOR, work_bytes=1, saved_bytes=1)
        self.group.looked("t", TableTerms(quota=1, min_interval_ms=0), outlook, outlook, 0)
        assert self.group.begin(0) is not None
        self.slots = Slots("g", self.group, self.changed, lambda: 0)
        self.runner = SlotRunner(table="t", slots=self.slots, parallelism=slots)

    def stop(self) -> None:
        """End its threads."""
        with self.changed:
            self.slots.stop()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Two slots."""
    made = Bench(2)
    yield made
    made.stop()


def _tasks(count: int) -> list[Task[int]]:
    return [Task(value=number, rows=number) for number in range(count)]


def test_results_come_in_the_order_of_the_tasks_again_and_again(bench: Bench) -> None:
    """A run that is planned again uses the same slots; one without tasks takes none."""
    for count in (5, 0, 1):
        found = bench.runner.run(
            lambda value: value * 10, _tasks(count), title="t", progress=SilentProgress()
        )
        assert found == [number * 10 for number in range(count)]


def test_the_first_failure_is_raised_and_the_slot_goes_on(bench: Bench) -> None:
    """As it was raised; the next run is as if nothing had been."""

    def work(value: int) -> int:
        if value == 3:
            raise ValueError("three")
        return value

    with pytest.raises(ValueError, match="three"):
        bench.runner.run(work, _tasks(4), title="t", progress=SilentProgress())
    assert bench.runner.run(work, _tasks(2), title="t", progress=SilentProgress()) == [0, 1]


def test_a_stop_waits_for_what_runs_and_begins_nothing_more() -> None:
    """The process is told; later ones are refused."""
    bench, begun, goes_on = Bench(1), threading.Event(), threading.Event()
    done: list[int] = []
    raised: list[BaseException] = []

    def work(value: int) -> int:
        begun.set()
        goes_on.wait(PATIENCE_SECONDS)
        done.append(value)
        return value

    def process() -> None:
        try:
            bench.runner.run(work, _tasks(3), title="t", progress=SilentProgress())
        except StoppingError as error:
            raised.append(error)

    thread = threading.Thread(target=process)
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    bench.stop()
    goes_on.set()
    thread.join(PATIENCE_SECONDS)

    assert done == [2]
    assert len(raised) == 1
    with pytest.raises(StoppingError):
        bench.runner.run(work, _tasks(1), title="t", progress=SilentProgress())
