"""What a task of Spark's does for a write: rows become files that nobody refers to yet.

Must not know: how rows become files.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from arctic.errors import InternalError, InvalidInputError, UnsupportedError
from arctic.job.write.write_task import WriteWork, write_task
from arctic.spark.base.error_surface import message_first
from arctic.spark.tasks.worker_garbage import spare_imports
from arctic.writing.target import TaskResult

RESULT_SCHEMA = "result binary"
"""What ``answers`` yields: one row for each task."""

_OF_THE_ROWS = (InvalidInputError, UnsupportedError)
"""Errors that another attempt of the task meets again."""


class TaskWriter:
    """Writes the rows of one task; pickles."""

    def __init__(self, work: WriteWork) -> None:
        self._work = work

    def write(self, batches: Iterable[pa.RecordBatch]) -> TaskResult:
        """Write the rows of the task that runs."""
        context = TaskContext.get()
        if context is None:
            raise InternalError("a write task runs outside of Spark")
        return write_task(
            self._work,
            self._named(batches),
            partition_id=context.partitionId(),
            task_id=context.taskAttemptId(),
        )

    def _named(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with the names that the frame has.

        Spark drops an alias that differs from the column below in case alone, where it takes no
        notice of case: rows come under that column's name then, in the place that they are to have.
        """
        names = list(self._work.conform.incoming_names)
        lowered = [name.lower() for name in names]
        for batch in batches:
            found = batch.schema.names
            is_same = found != names and [name.lower() for name in found] == lowered
            yield batch.rename_columns(names) if is_same else batch

    @message_first
    def answers(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the task's result, pickled, or the error that its rows cause.

        Such an error is an answer and does not fail the task: it would be tried again, and the
        files of the tasks that finished would not be known to whoever removes them.
        """
        try:
            answer: TaskResult | Exception = self.write(batches)
        except _OF_THE_ROWS as error:
            answer = error
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(answer)])], names=["result"])
        spare_imports()
