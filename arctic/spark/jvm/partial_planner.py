"""Scans that yield parts of aggregates, planned in the process of the session.

Rules:
    - Spark has such a scan once it was told so, and then its rows must come: whatever fails from
      there on is an error of the query.

Must not know: which aggregates are made early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql.types import StructType

from arctic.columns.integers.row_set import RowSet
from arctic.errors import InternalError
from arctic.job.changes.asked_changes import asks_for_changes
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_work import engine_work
from arctic.job.read.partial_scan import AskedPartial, PartialScan, plan_partial
from arctic.mor.partial_aggregates import PartialAggregate
from arctic.scan.aggregate import AggregateKind
from arctic.spark.base.handed_on import pin_text, pinned_snapshot, work_texts
from arctic.spark.base.partial_protocol import PartialAnswer, PartialQuestion
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.jvm.pickled_reads import function_text, partition_text
from arctic.spark.read.partition_reader import PartitionReader
from arctic.spark.source import READS, relevant_options


def planned_ahead(asked: PartialQuestion) -> PartialAnswer | None:
    """Say that tasks are going to make aggregates; None: they are not."""
    scan = _planned(asked)
    if scan is None:
        return None
    return PartialAnswer(pin=pin_text(scan.snapshot), rows=scan.rows, function="", partitions=[])


def begun(
    asked: PartialQuestion, look_up: Callable[[Sequence[str]], Sequence[RowSet]]
) -> PartialAnswer:
    """Return what the tasks of a query do that begins now.

    Args:
        asked: as it was planned ahead, pinned to the same state.
        look_up: returns the dead rows of files, of work as ``work_texts`` writes it.

    Raises:
        ArcticError: whatever a read may raise.
    """
    scan = _planned(asked)
    if scan is None:
        raise InternalError(
            "aggregates of the same state were to be made by tasks, and now are not; set "
            "spark.arctic.aggregateWithArrow to false, and report it"
        )
    work = engine_work(scan.scan)
    dead = () if work is None else look_up(work_texts(work))
    yields = StructType.fromJson(dict(asked.yields))
    reader = PartitionReader(scan.reader, arrow_schema(yields))
    return PartialAnswer(
        pin=pin_text(scan.snapshot),
        rows=scan.rows,
        function=function_text(reader, yields),
        partitions=[partition_text(group) for group in scan.groups(dead)],
    )


def _planned(asked: PartialQuestion) -> PartialScan | None:
    given = relevant_options(asked.options, *READS)
    if asks_for_changes(given):
        return None
    wanted = AskedPartial(
        keys=tuple(asked.keys),
        aggregates=tuple(
            PartialAggregate(kind=AggregateKind(kind), column=names[0] if names else None)
            for kind, *names in asked.aggregates
        ),
        averaged=tuple(asked.averaged),
        takes_floats=asked.floats,
        yields=arrow_schema(StructType.fromJson(dict(asked.yields))),
        relation=arrow_schema(StructType.fromJson(dict(asked.schema))),
    )
    return plan_partial(
        AskedRead.of(given),
        wanted,
        snapshot=pinned_snapshot(asked.pin),
        parallelism=asked.parallelism,
        is_agreed=asked.begins,
    )
