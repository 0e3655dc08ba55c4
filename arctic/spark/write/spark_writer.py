"""One write of Spark's: begun on the driver, written by its tasks, committed once.

Must not know: how rows become files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from arctic.errors import InternalError
from arctic.iceberg.tables.new_table import NewTable, take_back_all, taken_back_on_failure
from arctic.job.publish.after_write import after_write
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import abort_write, commit_write
from arctic.job.write.told_spread import begin_told
from arctic.job.write.write_job import WriteJob
from arctic.spark.base.error_surface import message_first
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.write.task_writer import TaskWriter
from arctic.writing.target import TaskResult


@dataclass(frozen=True)
class TaskMessage(WriterCommitMessage):
    """What a finished task tells the commit."""

    result: TaskResult


class ArcticWriter(DataSourceArrowWriter):
    """Writes Arrow batches in tasks."""

    def __init__(
        self,
        job: WriteJob,
        *,
        after: AskedWrite | None = None,
        made: Sequence[NewTable] = (),
    ) -> None:
        self._job = job
        self._made = made
        """What the write made before it began."""
        self._after = after
        """The write, where it or its table asks for more than a commit."""

    @message_first
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task to files that nobody refers to yet."""
        return TaskMessage(TaskWriter(self._job.work).write(iterator))

    @message_first
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the files of all tasks visible in one snapshot."""
        results = _results(messages)
        if len(results) != len(messages):
            raise InternalError(
                f"{len(messages) - len(results)} of {len(messages)} write tasks sent no result"
            )
        commit_write(self._job, results)
        if self._after is not None:
            # No session here, hence no tasks of Spark's; save() on a registered session keeps the
            # options to itself and has them.
            properties = self._job.target.table.properties
            after_write(self._after, properties, None, optimizes=self._after.optimizes)

    @message_first
    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks that finished, unless a commit was attempted.

        Spark also comes here when the commit failed, perhaps after it landed. Then every task has
        a message, and the commit itself has removed what it knows to be unreferenced.
        """
        results = _results(messages)
        if len(results) < len(messages):
            abort_write(self._job, results)
        take_back_all(self._made)


def begin_writer(
    options: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> ArcticWriter:
    """Check everything about a write that can be checked before its first row."""
    asked = AskedWrite.of(options, overwrite=overwrite)
    with taken_back_on_failure() as made:
        job = begin_told(asked, arrow_schema(schema))
    asks = asked.asks_for_more(job.target.table.properties)
    return ArcticWriter(job, after=asked if asks else None, made=tuple(made))


def _results(messages: Sequence[WriterCommitMessage | None]) -> list[TaskResult]:
    return [message.result for message in messages if isinstance(message, TaskMessage)]
