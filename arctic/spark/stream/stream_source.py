"""Changes as a source of Structured Streaming, and as a batch.

Spark asks one reader, in a worker beside the driver, for offsets and input partitions for as long
as a query runs; executors get a copy of it that knows nothing but how to read a partition.

Rules:
    - An offset is a ``StreamPosition`` as JSON. The first one is not logged before a batch is, and
      a restart computes it anew. So the end of the first batch carries where it began, and that
      counts.
    - Before Spark 4.2 a source is not told where a query stands: it remembers what it saw.
    - Every batch has exactly the schema that Spark asked for; Spark checks the first one only. It
      keeps the columns of its beginning where the table renames one meanwhile: see ``change_job``.

Must not know: how files are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from arctic.errors import (
    CommitStateUnknownError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.job.changes.change_range import ChangePlace
from arctic.job.changes.change_scan import begin_changes
from arctic.job.changes.consumer_job import ConsumerJob
from arctic.job.read.read_columns import check_types
from arctic.mor.request import CHANGE_ACTION_FIELD
from arctic.options import Scope
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.spark.base.error_surface import message_first
from arctic.spark.base.protocol import ScanQuestion
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.read.read_limits import SupportsTriggerAvailableNow, is_unlimited, spark_limit
from arctic.spark.read.reader import ArcticReader, no_files
from arctic.spark.stream.stream_partition import StreamPartitionReader
from arctic.table.streams.stream_position import StreamPosition

_IS_INITIAL = "initial"
_ORIGIN = "origin"
Offset = dict[str, Any]


class ArcticStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of a table, micro-batch by micro-batch."""

    def __init__(self, options: Mapping[str, str], requested: StructType) -> None:
        self._asked = AskedChanges.of(options, Scope.STREAM)
        self._requested = requested
        self._limit, name = self._asked.limit, self._asked.consumer
        self._consumer = None if name is None else ConsumerJob(self._asked, name)
        self._initial: Offset | None = None
        self._seen: Offset | None = None
        """The last offset that was given out or taken in."""
        self._is_planned = False
        """Whether a batch was planned, so that no later one is the first."""
        self._up_to: ChangePlace | None = None
        """Where a query ends that ends with what is there now."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what executors need not know."""
        return StreamPartitionReader, ()

    @cached_property
    def _changes(self) -> Changes:
        changes = Changes(self._asked)
        table = changes.opened.table
        told = self._asked.rows is not None or CHANGE_ACTION_FIELD.name in self._requested.names
        if table.is_keyed and not told:
            raise InvalidInputError(
                f"a stream of table {table.name!r} without column {CHANGE_ACTION_FIELD.name!r}, "
                "which tells rows that were added from rows that were deleted; call "
                "arctic.register(spark) before readStream, or give option store = change"
            )
        return changes

    @message_first
    def initialOffset(self) -> Offset:
        """Return where a new query begins."""
        if self._initial is None:
            begun = self._changes.beginning if self._consumer is None else self._consumed
            self._initial = {**begun().to_json(), _IS_INITIAL: True}
        return self._initial

    def _consumed(self) -> StreamPosition:
        """Return where the consumer stands that the options name; a new one is begun."""
        consumer = cast(ConsumerJob, self._consumer)
        return consumer.begin().position

    @message_first
    def commit(self, end: Offset) -> None:
        """Move the consumer behind what a batch has done."""
        if self._consumer is not None:
            with suppress(ConflictError):  # the next batch moves it as far
                self._consumer.follow(_position(end))

    @message_first
    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:
        """Return how far the next micro-batch goes.

        Args:
            start: what is done; None before Spark 4.2, which does not say.
            limit: Spark's wish; None before Spark 4.2.
        """
        begun = start or self._seen or self.initialOffset()
        position = _position(begun)
        no_limit = is_unlimited(limit)
        end = self._changes.advance(
            position, limit=ChangeLimit() if no_limit else self._limit, up_to=self._up_to
        )
        self._seen = begun
        if end != position:
            self._seen = end.to_json()
            if begun.get(_IS_INITIAL):
                self._seen[_ORIGIN] = position.to_json()
            elif _ORIGIN in begun and not self._is_planned:
                self._seen[_ORIGIN] = begun[_ORIGIN]
        elif self._consumer is not None and self._consumer.is_to_be_renewed(self._changes.opened):
            # No reason to fail: the next call tries again, or a batch moves it. The state there may
            # have expired, if nobody asked for too long, without a change that is missing.
            with suppress(ConflictError, NotFoundError, CommitStateUnknownError, StorageError):
                self._consumer.follow(position)
        return self._seen

    def getDefaultReadLimit(self) -> Any:
        """Return one of the limits that the options give; all of them are kept."""
        return spark_limit(self._limit)

    @message_first
    def prepareForTriggerAvailableNow(self) -> None:
        """Remember where a query ends that takes only what is there now."""
        self._up_to = self._changes.newest()

    def reportLatestOffset(self) -> Offset | None:
        """Return what could be read by now, for the progress of the query."""
        return None if self._seen is None else {**self._seen, "sequence": self._changes.head}

    @message_first
    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the tasks of one micro-batch."""
        self._seen, self._is_planned = end, True
        if start.get(_IS_INITIAL):
            start = end if end.get(_IS_INITIAL) else end.get(_ORIGIN, start)
        schema = arrow_schema(self._requested)
        job = self._changes.plan(
            _position(start),
            _position(end),
            columns=self._requested.names,
        )
        check_types(job.schema, schema)
        return [InputPartition((job.reader, schema, group)) for group in job.groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the events of one task; what executors call."""
        return StreamPartitionReader().read(partition)


def plan_change_reader(
    asked: AskedChanges, requested: StructType, question: ScanQuestion | None
) -> ArcticReader:
    """Plan a batch of changes.

    Args:
        asked: what the options of the relation say.
        requested: the columns that Spark wants back.
        question: what a scan of ours asks; None: Spark itself plans it, and wants no answer.

    Raises:
        ArcticError: as ``begin_changes``; InvalidInputError for a requested column of another type.
    """
    job = begin_changes(asked, columns=requested.names)
    schema = arrow_schema(requested)
    check_types(job.schema, schema)
    answer = None if question is None else no_files(merged=len(job.groups))
    return ArcticReader(job.reader, schema, job.groups, answer)


def _position(offset: Offset) -> StreamPosition:
    """Return the position in an offset, which may say more than the position."""
    own = {name: value for name, value in offset.items() if name not in (_IS_INITIAL, _ORIGIN)}
    return StreamPosition.from_json(own)
