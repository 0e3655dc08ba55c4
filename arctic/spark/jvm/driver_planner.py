"""Scans that are planned in the driver's own Python, where everything is imported and warm.

Spark plans each scan of a Python data source in a worker that it starts and ends for it. Here the
scan calls back into the process of the session instead, as ``foreachBatch`` does, and gets the
same: the pickled function that reads a partition, and the pickled partitions.

A scan that Spark carries out itself asks once more, when it begins: which rows of its files are
dead. See ``vectors_ahead``.

Rules:
    - Whatever fails while planning is answered with None. Then a worker plans, and a fault of the
      call, the data or the table becomes an error of the query there, in Spark's own form.
    - Where a relation does not say its warehouse whole, a worker told its columns, by the variables
      and the folder that Spark's workers have. Then a worker plans too.

Must not know: how a read is planned.
"""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from arctic.errors import ArcticError
from arctic.job.changes.asked_changes import asks_for_changes
from arctic.job.read.aggregate_job import known_aggregates
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import placed
from arctic.spark.base.catalog_questions import RowLevelQuestion
from arctic.spark.base.handed_on import pin_text, pinned_snapshot
from arctic.spark.base.partial_protocol import BeginQuestion, PartialQuestion
from arctic.spark.base.private_names import gateway
from arctic.spark.base.protocol import (
    AggregatesAnswer,
    AggregatesQuestion,
    Answer,
    DeadRowsAnswer,
    DeadRowsQuestion,
    Failure,
    PlaceAnswer,
    PlaceQuestion,
    PlanAnswer,
    PlanQuestion,
    answer_text,
    read_question,
    texts_of,
)
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.catalog.catalog_answers import answer_catalog
from arctic.spark.jvm.held_objects import HeldObjects
from arctic.spark.jvm.partial_planner import begun, planned_ahead
from arctic.spark.jvm.pickled_reads import function_text, partition_text
from arctic.spark.jvm.vectors_ahead import VectorsAhead
from arctic.spark.source import READS, plan_batch, relevant_options
from arctic.spark.tasks.spark_tasks import SparkRunner

_log = logging.getLogger(__name__)


class DriverPlanner:
    """What the JVM calls."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._vectors = VectorsAhead()
        self._held = HeldObjects()

    def apply(self, question: Any) -> Any:
        """Return the answer to a question of the protocol; None: Spark does without.

        A question is a text, or the list of a text and a frame in the JVM; the answer a text, or an
        error that is in the JVM.
        """
        try:
            return self._answer(question)
        finally:
            self._held.let_go()

    def _answer(self, question: Any) -> Any:
        # By place: the end of a list of the JVM's is an error there, and PySpark finds out which by
        # some sixty calls, each of which looks for a class in all jars.
        text, frame = (question, None) if isinstance(question, str) else (question[0], question[1])
        asked = read_question(text)
        answer: Any
        if isinstance(asked, DeadRowsQuestion):
            answer = self._dead_rows(asked)
        elif isinstance(asked, PlaceQuestion):
            answer = _place(asked)
        elif isinstance(asked, BeginQuestion):
            answer = self._begun(asked)
        elif isinstance(asked, PlanQuestion | AggregatesQuestion | PartialQuestion):
            answer = _known_or_planned(asked)
            if isinstance(answer, PlanAnswer) and answer.scan.work is not None:
                for share in answer.scan.work:
                    self._vectors.planned(share)
        elif isinstance(asked, RowLevelQuestion):
            with self._vectors.during_command():
                answer = answer_catalog(asked, frame, SparkRunner(self._session))
        else:
            answer = answer_catalog(asked, frame, SparkRunner(self._session))
        return answer_text(answer) if isinstance(answer, Answer) else answer

    def _dead_rows(self, asked: DeadRowsQuestion) -> Answer:
        try:
            dead = self._vectors.dead_rows(asked.work, SparkRunner(self._session))
        except Exception as error:  # noqa: BLE001 - it becomes an error of the query
            return Failure(error=f"{type(error).__name__}: {error}")
        return DeadRowsAnswer(bits=texts_of(b"".join(rows.to_bytes() for rows in dead)))

    def _begun(self, asked: BeginQuestion) -> Answer:
        runner = SparkRunner(self._session)
        try:
            return begun(asked, lambda work: self._vectors.dead_rows(work, runner))
        except Exception as error:  # noqa: BLE001 - it becomes an error of the query
            return Failure(error=f"{type(error).__name__}: {error}")

    class Java:
        """The interface that Py4J gives it."""

        implements = ("java.util.function.Function",)


def driver_planner(session: SparkSession) -> DriverPlanner:
    """Return a planner that the JVM of a classic session can call from now on."""
    # Without types.
    ensure_callback_server_started(gateway(session))  # type: ignore[no-untyped-call]
    return DriverPlanner(session)


def _place(asked: PlaceQuestion) -> PlaceAnswer | None:
    try:
        return PlaceAnswer(options=placed(asked.options))
    except ArcticError:
        return None


def _known_or_planned(
    asked: PlanQuestion | AggregatesQuestion | PartialQuestion,
) -> Answer | None:
    try:
        if placed(asked.options) != asked.options:
            return None
        if isinstance(asked, PartialQuestion):
            return planned_ahead(asked)
        return _aggregated(asked) if isinstance(asked, AggregatesQuestion) else _planned(asked)
    except ArcticError:
        return None
    except Exception as error:  # noqa: BLE001 - a worker plans instead, at the cost of time
        _log.warning("a worker plans instead: %s: %s", type(error).__name__, error)
        return None


def _planned(asked: PlanQuestion) -> PlanAnswer | None:
    schema = StructType.fromJson(dict(asked.schema))
    reader = plan_batch(asked.options, schema, asked.scan)
    if reader.answer is None:
        return None
    executed, arguments = reader.__reduce__()
    return PlanAnswer(
        function=function_text(executed(*arguments), schema),
        partitions=[partition_text(group) for group in reader.groups],
        scan=reader.answer,
    )


def _aggregated(asked: AggregatesQuestion) -> AggregatesAnswer | None:
    given = relevant_options(asked.options, *READS)
    if asks_for_changes(given):
        return None
    answer = known_aggregates(
        AskedRead.of(given, query=asked.query),
        asked.aggregates,
        relation=arrow_schema(StructType.fromJson(dict(asked.schema))),
        snapshot=pinned_snapshot(asked.pin),
    )
    if answer is None:
        return None
    values = [str(value) if isinstance(value, Decimal) else value for value in answer.values]
    return AggregatesAnswer(values=values, pin=pin_text(answer.snapshot))
