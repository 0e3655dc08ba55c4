"""The batches of one run of a streaming query, each written and committed once.

Rules:
    - A batch that landed in an earlier run is computed again, for Spark keeps the state of a query
      with its tasks; they write nothing then.
    - What fails stops the query, and the batch is written again when it is restarted. Where another
      writer won, it is written again at once: it lands once, as its number says which it is.
    - Each batch is spread by what the ones before it taught of the sizes of partitions.
    - Each batch is held against the columns of its moment, so the first one after a rename is
      refused: see ``conform``.

Must not know: how a frame becomes files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event

from pyspark.sql import DataFrame

from arctic.errors import ConflictError, InternalError, InvalidInputError
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.publish.after_write import after_write
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.plan_shuffle import plan_shuffle
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.retry import RetryPolicy
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.stream.checkpoint_file import CheckpointFile
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.write.spread import spread_rows
from arctic.spark.write.write_frame import write_frame
from arctic.table.files import Partition, WrittenFile
from arctic.table.hot_partitions import PartitionShares
from arctic.table.streams.stream_batch import StreamBatch

_START_SECONDS = 60.0
_TRIES = RetryPolicy(retries=3)
"""Of one batch; each computes it anew."""


class StreamSink:
    """What a query calls with each batch."""

    def __init__(self, asked: AskedWrite, *, memory: CheckpointFile | None) -> None:
        self._asked = asked
        self._query_id = ""
        self._has_begun = Event()
        self._since_optimized = 0
        self._memory = memory
        """Where shares outlive this run; None: nowhere."""
        self._path_of: Callable[[Partition], str] | None = None
        """Of partitions that can be hot; None: there are none."""
        self._shares = PartitionShares()

    @property
    def table(self) -> str:
        """The name of the table."""
        return self._asked.reference.identifier

    def check(self, frame: DataFrame) -> None:
        """Refuse what no batch of this frame could be written with; creates a missing table.

        Raises:
            ArcticError: whatever ``begin_write`` refuses.
        """
        with taken_back_on_failure():
            job = begin_write(self._asked, arrow_schema(frame.schema))
        plan = plan_shuffle(job, frame.columns)
        if plan is None or plan.partition_arrays is None:
            return
        self._path_of = plan.partition_path
        text = None if self._memory is None else self._memory.read()
        if text is not None:
            with suppress(InvalidInputError):  # Written by nobody who knows better: learn anew.
                self._shares = PartitionShares.parse(text)

    def begin(self, query_id: str) -> None:
        """Let the batches be written that wait for the query's id."""
        self._query_id = query_id
        self._has_begun.set()

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one batch; one that the table holds is only computed."""
        if not self._has_begun.wait(_START_SECONDS):
            raise InternalError("a stream wrote its first batch before it was started")
        batch = StreamBatch(query_id=self._query_id, batch_id=batch_id)
        job, files = _written(frame, self._asked.of_batch(batch), self._shares)
        if files and self._path_of is not None:
            self._learn(self._path_of, files)
        self._since_optimized += 1
        is_time = self._asked.optimizes and self._since_optimized >= self._asked.optimize_every
        if is_time:
            self._since_optimized = 0
        runner = SparkRunner(frame.sparkSession)
        after_write(self._asked, job.target.table.properties, runner, optimizes=is_time)

    def _learn(self, path_of: Callable[[Partition], str], files: Iterable[WrittenFile]) -> None:
        rows = Counter[str]()
        for file in files:
            rows[path_of(file.partition)] += file.record_count
        before = self._shares
        self._shares = before.after(rows)
        if self._memory is not None and self._shares.differs_from(before):
            self._memory.write(self._shares.text())


def _written(
    frame: DataFrame, asked: AskedWrite, shares: PartitionShares
) -> tuple[WriteJob, tuple[WrittenFile, ...]]:
    """Write one batch, again from its beginning where that is what a conflict asks for."""
    return _TRIES.run(lambda: _written_once(frame, asked, shares), on=ConflictError)


def _written_once(
    frame: DataFrame, asked: AskedWrite, shares: PartitionShares
) -> tuple[WriteJob, tuple[WrittenFile, ...]]:
    job = begin_write(asked, arrow_schema(frame.schema))
    spread = spread_rows(frame, job, shares=shares)
    return job, write_frame(spread.frame, spread.job)
