"""The rows of a frame, sent to the tasks that own their keys before a write.

One task then sees every event of a key, in order, and each (partition, node) has one writer,
which is what bounds the number of files.

Rules:
    - Few rows stay where they are if any task may write them: sending them elsewhere would cost
      more than all the rest of the write. Their keys have the order of the tasks then, which is
      that of the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from arctic import options as opt
from arctic.job.shuffle import ARRIVAL_COLUMN, ROW_HASH_COLUMN, TASK_COLUMN, ShufflePlan
from arctic.job.write_job import shuffle_plan
from arctic.spark.narrow_input import is_narrow
from arctic.spark.node_column import task_column
from arctic.spark.quoted import quoted
from arctic.spark.types import arrow_schema

_TASKS_PER_CORE = 3
"""Enough to even out skew; each one costs a Python worker's start and its own files."""
_MOST_IN_PLACE = 2
"""Tasks that write few rows where they are: so often the files of a shuffled write, at most."""


def spread_rows(
    frame: DataFrame, options: Mapping[str, str], *, overwrite: bool
) -> tuple[DataFrame, Mapping[str, str]]:
    """Send the rows of a frame to where they are to be written.

    Args:
        frame: the rows as the user has them.
        options: ``path``, catalog and write options, keys in lower case.
        overwrite: the save mode is overwrite.

    Returns:
        The frame with the helper columns, and further options for its write.

    Raises:
        ArcticError: whatever ``begin_write`` refuses, before any row is computed.
    """
    schema = arrow_schema(frame.schema)
    plan = shuffle_plan(options, schema, overwrite=overwrite)
    max_tasks = opt.MAX_TASKS.value(options)
    if plan is None:
        return frame if max_tasks is None else frame.coalesce(max_tasks), {}
    count = _task_count(frame.sparkSession, plan)
    count = count if max_tasks is None else min(count, max_tasks)
    if plan.may_stay and is_narrow(frame, most_tasks=min(_MOST_IN_PLACE, count)):
        return frame, {}
    plan = plan.for_tasks(count)
    spread = (
        frame.withColumn(ARRIVAL_COLUMN, F.monotonically_increasing_id())
        .withColumn(TASK_COLUMN, _task_column(frame, plan, count))
        .repartitionById(count, F.col(TASK_COLUMN))
        .sortWithinPartitions(*[quoted(name) for name in plan.sort_columns], ARRIVAL_COLUMN)
    )
    return spread, plan.options


def _task_column(frame: DataFrame, plan: ShufflePlan, count: int) -> Column:
    column = task_column(plan, frame.schema, count)
    if column is None:
        # Its type stubs do not know that a function's annotations are enough.
        task_of = arrow_udf(_task_ids(plan, count), "int")  # type: ignore[call-overload]
        column = task_of(*[_input(frame, name) for name in plan.columns])
    return column


def _input(frame: DataFrame, name: str) -> Column:
    if name != ROW_HASH_COLUMN:
        return F.col(quoted(name))
    hashed = [field.name for field in frame.schema if not _holds_map(field.dataType)]
    return F.xxhash64(*[quoted(name) for name in hashed]) if hashed else F.lit(0)


def _holds_map(data_type: DataType) -> bool:
    """Say whether Spark refuses to hash a type: the entries of a map have no order."""
    if isinstance(data_type, StructType):
        return any(_holds_map(field.dataType) for field in data_type)
    if isinstance(data_type, ArrayType):
        return _holds_map(data_type.elementType)
    return isinstance(data_type, MapType)


def _task_ids(plan: ShufflePlan, count: int) -> Callable[..., pa.Array]:
    def task_ids(*columns: pa.Array) -> pa.Array:
        return plan.task_ids(columns, count)

    return task_ids


def _task_count(session: SparkSession, plan: ShufflePlan) -> int:
    count = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    if hasattr(session, "_jsparkSession"):  # A Connect client does not know the cluster's size.
        count = min(count, _TASKS_PER_CORE * session.sparkContext.defaultParallelism)
    return count if plan.max_tasks is None else min(count, plan.max_tasks)
