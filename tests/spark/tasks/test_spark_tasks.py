"""Running tasks on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from arctic.errors import ArcticError, ConflictError, FormatError, InternalError, StorageError
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import Progress, Task
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.tasks.watch_job import GROUP_PREFIX

pytestmark = pytest.mark.spark


WITH_SPARKS_BAR = """
import time
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import Task
from arctic.spark.tasks.spark_tasks import SparkRunner
import arctic

conf = {"spark.ui.showConsoleProgress": "true", "spark.log.level": "OFF"}
session = arctic.local_session(master="local[1]", conf=conf)
SparkRunner(session).run(
    time.sleep, [Task(value=1, rows=1)] * 3, title="t", progress=SilentProgress()
)
session.stop()
"""


@dataclass
class Told:
    """A progress that remembers its totals."""

    steps: list[tuple[int, int]] = field(default_factory=list)
    ended: bool = False

    def begin(self, title: str, *, tasks: int, rows: int) -> None:
        """Start over."""
        self.steps, self.ended = [], False

    def advance(self, *, tasks: int, rows: int) -> None:
        """Remember."""
        self.steps.append((tasks, rows))

    def end(self) -> None:
        """Remember."""
        self.ended = True


def _run(
    spark: SparkSession,
    work: Callable[[int], Any],
    rows: Sequence[int],
    progress: Progress | None = None,
) -> list[Any]:
    tasks = [Task(value=number, rows=weight) for number, weight in enumerate(rows)]
    return SparkRunner(spark).run(
        work, tasks, title="optimize db.t", progress=progress or SilentProgress()
    )


def _where() -> Callable[[int], tuple[int, int, int]]:
    # Made here, so that it travels by value: workers cannot import test modules.
    def work(value: int) -> tuple[int, int, int]:
        context = TaskContext.get()
        assert context is not None
        return value, context.stageId(), context.partitionId()

    return work


@pytest.fixture
def own_group(spark: SparkSession) -> Iterator[str]:
    """A job group that the user has set."""
    spark.sparkContext.setJobGroup("mine", "my work")
    yield "mine"
    for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
        spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_each_task_is_one_of_sparks_and_results_are_in_order(
    spark: SparkSession, count: int
) -> None:
    """All in one stage, none together: neither hashing nor adaptive execution joins them."""
    answers = _run(spark, _where(), [1] * count)

    assert [value for value, _, _ in answers] == list(range(count))
    assert len({stage for _, stage, _ in answers}) == 1
    assert [partition for _, _, partition in answers] == list(range(count))


@pytest.mark.parametrize(("count", "stages"), [(1, 1), (2, 2)])
def test_a_single_task_is_the_only_stage_of_its_job(
    spark: SparkSession, count: int, stages: int
) -> None:
    """Several are sent to their places first."""

    def work(value: int) -> str | None:
        context = TaskContext.get()
        assert context is not None
        return context.getLocalProperty("spark.jobGroup.id")

    group, *_ = _run(spark, work, [1] * count)
    tracker = spark.sparkContext.statusTracker()

    assert group is not None
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    assert max(len(job.stageIds) for job in jobs if job is not None) == stages


def test_heavy_tasks_begin_first(spark: SparkSession) -> None:
    """Spark begins partitions in their order."""
    answers = _run(spark, _where(), [1, 9, 5])

    assert [partition for _, _, partition in answers] == [2, 0, 1]


def test_tasks_may_be_large(spark: SparkSession) -> None:
    """A plan task lists its files; each Spark task gets its own list only."""

    def work(value: bytes) -> int:
        return len(value)

    tasks = [Task(value=bytes(300_000 + number), rows=1) for number in range(8)]
    sizes = SparkRunner(spark).run(work, tasks, title="t", progress=SilentProgress())

    assert sizes == [300_000 + number for number in range(8)]


def test_without_tasks_there_is_no_job(spark: SparkSession) -> None:
    """Two jobs of the test around it have numbers next to each other."""

    def next_job(group: str) -> int:
        spark.sparkContext.setJobGroup(group, "")
        spark.sparkContext.parallelize([1], 1).count()
        return spark.sparkContext.statusTracker().getJobIdsForGroup(group)[0]

    before = next_job("before-none")

    assert _run(spark, _where(), []) == []
    assert next_job("after-none") == before + 1


@pytest.mark.parametrize("kind", [ConflictError, FormatError, InternalError, StorageError])
def test_a_named_error_arrives_as_itself(spark: SparkSession, kind: type[ArcticError]) -> None:
    """Class and message, without Spark's wrapping."""

    def work(value: int) -> None:
        if value == 1:
            raise kind("file 'a': has 3 rows: expected 4")

    with pytest.raises(ArcticError) as caught:
        _run(spark, work, [1, 1, 1])

    assert type(caught.value) is kind
    assert caught.value.message == "file 'a': has 3 rows: expected 4"


def test_another_error_keeps_its_trace(spark: SparkSession) -> None:
    """It is a bug, and the trace says where."""

    def divide(value: int) -> float:
        return 1 / value

    with pytest.raises(PySparkException, match=r"(?s)in divide.*ZeroDivisionError"):
        _run(spark, divide, [1, 1])


def test_a_failure_cancels_the_other_tasks(spark: SparkSession) -> None:
    """Nobody waits for work that is thrown away."""

    def work(value: int) -> None:
        if value == 0:
            raise ConflictError("too late")
        time.sleep(60)

    started = time.monotonic()
    with pytest.raises(ConflictError):
        _run(spark, work, [1, 1])

    assert time.monotonic() - started < 30


def test_an_interrupt_cancels_the_job(spark: SparkSession) -> None:
    """Before it goes on to the caller, so that nothing is written afterwards."""

    class Interrupted(Told):
        def advance(self, *, tasks: int, rows: int) -> None:
            raise KeyboardInterrupt

    def work(value: int) -> None:
        time.sleep(60 * value)

    progress, started = Interrupted(), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _run(spark, work, [3, 2, 1], progress)

    assert time.monotonic() - started < 30
    assert progress.ended
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_the_job_is_described_and_the_users_own_group_stays(
    spark: SparkSession, own_group: str
) -> None:
    """What the web interface shows, seen from inside a task."""

    def work(value: int) -> tuple[str | None, str | None]:
        context = TaskContext.get()
        assert context is not None
        return (
            context.getLocalProperty("spark.jobGroup.id"),
            context.getLocalProperty("spark.job.description"),
        )

    ((group, description),) = _run(spark, work, [1])
    tracker = spark.sparkContext.statusTracker()

    assert description == "optimize db.t"
    assert group is not None
    assert group.startswith(GROUP_PREFIX)
    assert tracker.getJobIdsForGroup(group)
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == own_group


def test_progress_follows_the_tasks_that_are_done(spark: SparkSession, tmp_path: Path) -> None:
    """Rows are taken to be spread evenly; the end is exact."""
    seen = str(tmp_path / "seen")

    class Seen(Told):
        def advance(self, *, tasks: int, rows: int) -> None:
            super().advance(tasks=tasks, rows=rows)
            Path(seen).touch()

    def work(value: int) -> None:
        # The first of them are seen to be done before the others are.
        while value > 1 and not os.path.exists(seen):
            time.sleep(0.01)

    progress = Seen()
    _run(spark, work, [10] * 7, progress)

    assert progress.ended
    assert len(progress.steps) > 1
    assert progress.steps == sorted(set(progress.steps))
    assert progress.steps[-1] == (7, 70)
    assert all(rows == 10 * tasks for tasks, rows in progress.steps)


def test_sparks_own_bar_is_held_back() -> None:
    """Two bars on one line of a terminal cannot be read; Spark would draw its own 15 times here.

    On a busy machine it may be quicker once. The name that holds it back is Spark's own.
    """
    done = subprocess.run(
        [sys.executable, "-c", WITH_SPARKS_BAR], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("[Stage") < 3
