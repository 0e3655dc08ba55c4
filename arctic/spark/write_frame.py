"""One write of a classic session: spread, written by tasks of Spark, committed in this process.

Spark would begin and commit the write of a Python data source in workers that it starts for it;
here that happens where everything is imported, and only the rows go through Spark.

Rules:
    - The result of a task counts once, however often Spark ran it: collecting sees to that.
    - When rows are refused, the files of all tasks are removed. Files of a task that Spark gave up
      stay behind, as those of a lost attempt do, for orphan cleaning to find.

Must not know: how rows become files, save modes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from arctic.job.write_job import abort_write, begin_write, commit_write
from arctic.spark.error_surface import named_errors
from arctic.spark.hand_over import batches_by_rows
from arctic.spark.quoted import quoted
from arctic.spark.task_writer import RESULT_SCHEMA, TaskWriter
from arctic.spark.types import arrow_schema
from arctic.table.files import WrittenFile
from arctic.write.target import TaskResult


def write_frame(
    frame: DataFrame, options: Mapping[str, str], *, overwrite: bool
) -> tuple[WrittenFile, ...]:
    """Write the rows of a frame, as they lie in its partitions, and commit them.

    Args:
        frame: of a classic session; spread, if it is to be.
        options: ``path``, catalog and write options, keys in lower case.
        overwrite: the save mode is overwrite.

    Returns:
        The files that were written; committed, unless they are of a batch that landed before.

    Raises:
        ArcticError: as ``begin_write``, ``write_task`` and ``commit_write``.
    """
    job = begin_write(options, arrow_schema(frame.schema), overwrite=overwrite)
    with named_errors(), batches_by_rows(frame):
        rows = _mapped(frame, TaskWriter(job.work).answers, RESULT_SCHEMA).collect()
    answers: list[TaskResult | Exception] = [pickle.loads(row.result) for row in rows]
    results = [answer for answer in answers if isinstance(answer, TaskResult)]
    for answer in answers:
        if isinstance(answer, Exception):
            abort_write(job, results)
            raise answer
    commit_write(job, results)
    return tuple(file for result in results for file in result.files)


def _mapped(
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """Return ``frame.mapInArrow(...)``, which asks for pandas that it does not need.

    Nor does it take every name of a column.
    """
    mapped: Any = UserDefinedFunction(
        function, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = mapped(*[F.col(quoted(name)) for name in frame.columns])
    java = frame._jdf.mapInArrow(column._jc, False, None)
    return DataFrame(java, frame.sparkSession)
