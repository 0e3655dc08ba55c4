"""Independent tasks, run by Spark: one stage, one Spark task for each.

Rules:
    - The work and its value travel as a row of a frame, so a task gets its own and no other's.
    - A task that fails is tried again as often as Spark is set to (``spark.task.maxFailures``), for
      a storage may come back; then Spark cancels the others, and the error arrives as itself.
    - Where the session itself has ended, no error of its tasks means anything.

Must not know: what a task does.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from arctic.errors import InternalError
from arctic.job.tasks.run_tasks import LostRunnerError, Progress, Task, heaviest_first
from arctic.spark.base.error_surface import message_first, named_errors
from arctic.spark.base.private_names import has_ended, is_classic
from arctic.spark.tasks.watch_job import collect_watched
from arctic.spark.tasks.workers import check_workers

T = TypeVar("T")
R = TypeVar("R")

_CONNECT_PARALLELISM = 16


class SparkRunner:
    """Runs tasks on the cluster of a session, classic or Connect."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @property
    def parallelism(self) -> int:
        """How many tasks run at the same time, as far as the session knows."""
        if is_classic(self._session):
            return int(self._session.sparkContext.defaultParallelism)
        # A Connect client does not know the cluster's size.
        return _CONNECT_PARALLELISM

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Do the work for each task; its module must be importable on the workers."""
        if not tasks:
            return []
        try:
            return self._run(work, tasks, title, progress)
        except Exception as error:
            if not has_ended(self._session):
                raise
            raise LostRunnerError(
                f"{title}: the Spark session has ended; expected one that lives as long as its "
                "tasks; begin another, and try again with it"
            ) from error

    def _run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], title: str, progress: Progress
    ) -> list[R]:
        check_workers(self._session)
        rows = sum(task.rows for task in tasks)
        progress.begin(title, tasks=len(tasks), rows=rows)
        try:
            with named_errors():
                answers = collect_watched(
                    _answers(self._session, work, tasks),
                    title=title,
                    tasks=len(tasks),
                    told=lambda done: progress.advance(tasks=done, rows=rows * done // len(tasks)),
                )
        finally:
            progress.end()
        results = {answer.number: answer.result for answer in answers}
        if len(answers) != len(tasks) or results.keys() != set(range(len(tasks))):
            raise InternalError(f"{len(answers)} answers to {len(tasks)} tasks")
        return [pickle.loads(results[number]) for number in range(len(tasks))]


def _answers(session: SparkSession, work: Callable[[T], R], tasks: Sequence[Task[T]]) -> DataFrame:
    # Spark begins its tasks in the order of their partitions.
    rows = [
        (place, number, _pickled(work, tasks[number].value))
        for place, number in enumerate(heaviest_first(tasks))
    ]
    frame = session.createDataFrame(rows, "place int, number int, task binary")
    # Not mapInArrow, which needs pandas. What has effects must not be moved or done twice.
    result_of = arrow_udf(_results, "binary").asNondeterministic()  # type: ignore[call-overload]
    # Of one task nothing need be exchanged: a stage and a plan that adapts would be for nothing.
    is_single = len(tasks) == 1
    spread = frame.coalesce(1) if is_single else frame.repartitionById(len(tasks), F.col("place"))
    return spread.select("number", result_of(F.col("task")).alias("result"))


def _pickled(work: Callable[[T], R], value: T) -> bytes:
    # By name like pickle, but functions of a notebook by value. Its package has no types.
    pickled: bytes = cloudpickle.dumps((work, value))  # type: ignore[no-untyped-call]
    return pickled


@message_first
def _results(tasks: pa.Array) -> pa.Array:
    return pa.array([_result(task) for task in tasks.to_pylist()], pa.binary())


def _result(task: bytes) -> bytes:
    work, value = pickle.loads(task)
    result: Any = work(value)
    return pickle.dumps(result)
