"""One write of a classic session: spread, written by tasks of Spark, committed in this process.

Spark would begin and commit the write of a Python data source in workers that it starts for it;
here that happens where everything is imported, and only the rows go through Spark.

Rules:
    - The result of a task counts once, however often Spark ran it: collecting sees to that.
    - An overwrite by rows of the table itself replaces the state that they are read in, or nothing.
    - When rows are refused, the files of all tasks are removed. Files of a task that Spark gave up
      stay behind, as those of a lost attempt do, for orphan cleaning to find.

Must not know: how rows become files, save modes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from arctic.job.write.commit_write import abort_write, commit_write
from arctic.job.write.write_job import WriteJob
from arctic.spark.base.error_surface import named_errors
from arctic.spark.base.private_names import jvm_column, jvm_frame
from arctic.spark.base.quoted import quoted
from arctic.spark.write.hand_over import batches_by_rows
from arctic.spark.write.own_rows import as_it_is_read, check_read_as_begun
from arctic.spark.write.task_writer import RESULT_SCHEMA, TaskWriter
from arctic.table.files import WrittenFile
from arctic.writing.target import TaskResult
from arctic.writing.write_request import WriteMode


def write_frame(frame: DataFrame, job: WriteJob) -> tuple[WrittenFile, ...]:
    """Write the rows of a frame, as they lie in its partitions, and commit them.

    Args:
        frame: of a classic session; spread, if it is to be.
        job: the write of it.

    Returns:
        The files that were written; committed, unless they are of a batch that landed before.

    Raises:
        ReadLaterError: an overwrite would read a later state of its table than it replaces.
        ArcticError: as ``write_task`` and ``commit_write``.
    """
    with named_errors(), batches_by_rows(frame):
        mapped = mapped_in_arrow(frame, TaskWriter(job.work).answers, RESULT_SCHEMA)
        if job.request.mode is WriteMode.OVERWRITE:
            check_read_as_begun(mapped, job)
        elif job.is_unread:
            job = as_it_is_read(mapped, job)
        rows = mapped.collect()
    answers: list[TaskResult | Exception] = [pickle.loads(row.result) for row in rows]
    results = [answer for answer in answers if isinstance(answer, TaskResult)]
    for answer in answers:
        if isinstance(answer, Exception):
            abort_write(job, results)
            raise answer
    commit_write(job, results)
    return tuple(file for result in results for file in result.files)


def mapped_in_arrow(
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """Return ``frame.mapInArrow(...)``, which asks for pandas that it does not need.

    Nor does it take every name of a column.

    Args:
        frame: of a classic session.
        function: runs in tasks.
        schema: of what it yields.
    """
    mapped: Any = UserDefinedFunction(
        function, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    java = jvm_frame(frame)
    # As F.col, in one call of the JVM instead of three for each.
    column = mapped(*[Column(java.col(quoted(name))) for name in frame.columns])
    java = java.mapInArrow(jvm_column(column), False, None)
    return DataFrame(java, frame.sparkSession)
