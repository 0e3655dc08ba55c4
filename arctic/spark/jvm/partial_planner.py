"""Scans that yield parts of aggregates, planned in the process of the session.

Rules:
    - Spark has such a scan once it was told so, and then its rows must come: whatever fails from
      there on is an error of the query. So the plan is kept from there on, and asked for nothing
      more of a table that others may change.

Must not know: which aggregates are made early.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from pyspark.sql.types import StructType

from arctic.columns.integers.row_set import RowSet
from arctic.job.changes.asked_changes import asks_for_changes
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.partial_scan import AskedPartial, PartialScan, plan_partial
from arctic.mor.partial_aggregates import PartialAggregate
from arctic.scan.aggregate import AggregateKind
from arctic.spark.base.handed_on import pin_text, pinned_snapshot, work_texts
from arctic.spark.base.partial_protocol import (
    BeginAnswer,
    BeginQuestion,
    PartialAnswer,
    PartialQuestion,
)
from arctic.spark.base.protocol import bytes_of, texts_of
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.jvm.pickled_reads import function_text, partition_text
from arctic.spark.read.hints import exact_filter
from arctic.spark.read.partition_reader import PartitionReader
from arctic.spark.source import READS, relevant_options


def planned_ahead(asked: PartialQuestion) -> PartialAnswer | None:
    """Say that tasks are going to make aggregates; None: they are not."""
    yields = StructType.fromJson(dict(asked.yields))
    scan = _planned(asked, yields)
    if scan is None:
        return None
    return PartialAnswer(
        pin=pin_text(scan.snapshot),
        size_bytes=scan.size_bytes,
        rows=scan.rows,
        plan=texts_of(pickle.dumps((scan, yields))),
    )


def begun(
    asked: BeginQuestion, look_up: Callable[[Sequence[str]], Sequence[RowSet]]
) -> BeginAnswer:
    """Return what the tasks of a query do that begins now.

    Args:
        asked: what ``planned_ahead`` planned.
        look_up: returns the dead rows of files, of work as ``work_texts`` writes it.

    Raises:
        ArcticError: whatever a read may raise.
    """
    scan: PartialScan
    scan, yields = pickle.loads(bytes_of(asked.plan))
    dead = () if scan.work is None else look_up(work_texts(scan.work))
    reader = PartitionReader(scan.reader, arrow_schema(yields))
    return BeginAnswer(
        function=function_text(reader, yields),
        partitions=[partition_text(group) for group in scan.told(dead)],
    )


def _planned(asked: PartialQuestion, yields: StructType) -> PartialScan | None:
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
        yields=arrow_schema(yields),
        relation=arrow_schema(StructType.fromJson(dict(asked.schema))),
    )
    return plan_partial(
        AskedRead.of(given, query=asked.query),
        wanted,
        filter_for=lambda table: exact_filter(asked.hints, table) if asked.hints else None,
        snapshot=pinned_snapshot(asked.pin),
        parallelism=asked.parallelism,
    )
