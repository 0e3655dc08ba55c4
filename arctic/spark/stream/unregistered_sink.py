"""The batches of a stream that reach the data source itself: where nothing is registered.

Rules:
    - Spark makes a writer for the tasks of a batch and another one for its commit. The commit goes
      by what the tasks began with, which travels with the messages: rows that may move were looked
      up in the state that was pinned then.
    - Rows stay in the tasks that they come in; ``check_key_owners`` refuses what that would break.

Must not know: how rows become files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from arctic.errors import FormatError, InternalError, InvalidInputError
from arctic.job.publish.after_write import after_write
from arctic.job.reference import TableReference
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import abort_write, commit_write
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.spark.base.error_surface import message_first
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.write.task_writer import TaskWriter
from arctic.table.streams.stream_batch import StreamBatch
from arctic.writing.target import TaskResult

_CHECKPOINT = "checkpointlocation"


@dataclass(frozen=True)
class StreamTaskMessage(WriterCommitMessage):
    """What a finished task tells the commit of its batch."""

    job: WriteJob | None
    """What the tasks began with; the first one tells."""
    result: TaskResult


class ArcticStreamWriter(DataSourceStreamArrowWriter):
    """Writes Arrow batches of one batch of a stream in tasks."""

    def __init__(self, job: WriteJob, query_id: str, *, after: AskedWrite) -> None:
        self._job = job
        self._query_id = query_id
        self._after = after
        """The write; it or its table may ask for more than commits."""

    @message_first
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task to files that nobody refers to yet."""
        result = TaskWriter(self._job.work).write(iterator)
        context = TaskContext.get()
        is_first = context is not None and context.partitionId() == 0
        return StreamTaskMessage(job=self._job if is_first else None, result=result)

    @message_first
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Make the files of a batch visible in one snapshot, unless the batch is there already."""
        told = _told(messages)
        if len(told) != len(messages):
            raise InternalError(
                f"{len(messages) - len(told)} of {len(messages)} write tasks sent no result"
            )
        if not told:
            return
        jobs = [each.job for each in told if each.job is not None]
        if len(jobs) != 1:
            raise InternalError(f"{len(jobs)} of {len(told)} write tasks were the first one")
        batch = StreamBatch(query_id=self._query_id, batch_id=batchId)
        commit_write(replace(jobs[0], batch=batch), [each.result for each in told])
        is_time = batchId % self._after.optimize_every == self._after.optimize_every - 1
        properties = jobs[0].target.table.properties
        after_write(self._after, properties, None, optimizes=self._after.optimizes and is_time)

    @message_first
    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Delete the files of the tasks that finished, unless a commit was attempted.

        Spark also comes here when the commit failed, perhaps after it landed. Then every task has
        a message, and the commit itself has removed what it knows to be unreferenced.
        """
        told = _told(messages)
        if len(told) < len(messages):
            abort_write(self._job, [each.result for each in told])


def begin_stream_writer(
    options: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> ArcticStreamWriter:
    """Check everything about a batch that can be checked before its first row.

    Args:
        options: ``path``, catalog and write options, and ``checkpointlocation``.
        schema: of the rows.
        overwrite: the output mode is complete.

    Raises:
        ArcticError: whatever ``begin_write`` refuses.
        InvalidInputError: output mode complete, or no checkpoint.
    """
    asked = AskedWrite.of({name: text for name, text in options.items() if name != _CHECKPOINT})
    asked = asked.of_stream(output_mode="complete" if overwrite else "append")
    checkpoint = options.get(_CHECKPOINT)
    if not checkpoint:
        raise InvalidInputError(
            "a stream into a table needs a place to remember how far it came; add "
            ".option('checkpointLocation', '...')"
        )
    return ArcticStreamWriter(
        begin_write(asked, arrow_schema(schema)),
        _query_id(asked.reference, checkpoint),
        after=asked,
    )


def _told(messages: Sequence[WriterCommitMessage | None]) -> list[StreamTaskMessage]:
    return [message for message in messages if isinstance(message, StreamTaskMessage)]


def _query_id(reference: TableReference, checkpoint: str) -> str:
    """Return the id of a streaming query from its checkpoint.

    Args:
        reference: the table; its access to files is used.
        checkpoint: the folder, as a URI that says where it is unless it is on this machine.

    Raises:
        StorageError: there is no such file, or it cannot be read.
        FormatError: it is not what Spark writes.
    """
    opened = reference.open()
    path = f"{checkpoint.rstrip('/')}/metadata"
    with opened.io.open_input(path) as source:
        text = source.read()
    try:
        return str(json.loads(text)["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"checkpoint file {path!r} holds no query id; expected what Spark writes there"
        ) from error
