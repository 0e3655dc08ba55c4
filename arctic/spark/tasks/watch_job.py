"""The job that collects a frame, watched while it runs.

Rules:
    - On a classic session the job has a group and a description, which the web interface shows.
      Both are set in a thread of its own, so what the caller has set stays.
    - When the caller is interrupted, the job is cancelled before the interrupt goes on.
    - The bar that Spark itself draws on the terminal of a classic session is held back meanwhile:
      it would be drawn over the one of whoever is told.

Must not know: what the rows are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import InheritableThread, SparkContext
from pyspark.sql import DataFrame, Row

from arctic.spark.base.private_names import is_classic, jvm_context

_POLL_SECONDS = 0.2
GROUP_PREFIX = "arctic-"


def collect_watched(
    frame: DataFrame, *, title: str, tasks: int, told: Callable[[int], None]
) -> list[Row]:
    """Return the rows of a frame whose last step is a shuffle into that many tasks, or one task.

    Args:
        frame: what to collect.
        title: the description of the job.
        tasks: tasks of its last stage.
        told: called with how many of them are done, each time that there are more.
    """
    told = _only_more(told, tasks=tasks)
    if is_classic(frame.sparkSession):
        rows = _collect_classic(frame, title=title, told=told)
    else:
        rows = _collect_remote(frame, told=told)
    told(tasks)
    return rows


def _only_more(told: Callable[[int], None], *, tasks: int) -> Callable[[int], None]:
    most = 0

    def tell(done: int) -> None:
        nonlocal most
        if most < done <= tasks:
            most = done
            told(done)

    return tell


def _collect_classic(frame: DataFrame, *, title: str, told: Callable[[int], None]) -> list[Row]:
    context = frame.sparkSession.sparkContext
    group = f"{GROUP_PREFIX}{uuid.uuid4()}"
    rows: Future[list[Row]] = Future()

    def collect() -> None:
        try:
            context.setJobGroup(group, title, interruptOnCancel=True)
            rows.set_result(frame.collect())
        except BaseException as error:  # noqa: BLE001 - raised where the rows are waited for
            rows.set_exception(error)

    thread = InheritableThread(target=collect, daemon=True)
    thread.start()
    try:
        while not rows.done():
            wait([rows], timeout=_POLL_SECONDS)
            _hold_back_bar(context)
            told(_tasks_done(context, group))
    except BaseException:
        while not rows.done():  # Again, because a job that was not there yet is not cancelled.
            context.cancelJobGroup(group)
            wait([rows], timeout=_POLL_SECONDS)
        raise
    return rows.result()


def _tasks_done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    for job_id in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(job_id)
        # The stage before the shuffle may be run ahead, as a job of that one stage.
        if job is not None and len(job.stageIds) > 1:
            stage = tracker.getStageInfo(max(job.stageIds))
            return 0 if stage is None else int(stage.numCompletedTasks)
    return 0


def _hold_back_bar(context: SparkContext) -> None:
    # It takes half a second's rest whenever something has finished. Not a public name of Spark's.
    with suppress(Py4JError):
        bar = jvm_context(context).progressBar()
        if bar.isDefined():
            bar.get().finishAll()


def _collect_remote(frame: DataFrame, *, told: Callable[[int], None]) -> list[Row]:
    session: Any = frame.sparkSession
    tag = f"{GROUP_PREFIX}{uuid.uuid4()}"

    def heard(stages: Iterable[Any] | None, **_: Any) -> None:
        known = sorted(stages or (), key=lambda stage: int(stage.stage_id))
        if len(known) > 1:
            told(known[-1].num_completed_tasks)

    session.addTag(tag)
    session.registerProgressHandler(heard)
    try:
        return frame.collect()
    except KeyboardInterrupt:
        session.interruptTag(tag)
        raise
    finally:
        session.removeProgressHandler(heard)
        session.removeTag(tag)
