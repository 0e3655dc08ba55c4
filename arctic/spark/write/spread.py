"""The rows of a frame, sent to the tasks that own their keys before a write.

One task then sees every event of a key, in order, and each (partition, node) has one writer,
which is what bounds the number of files.

Rules:
    - Few rows stay where they are if any task may write them: sending them elsewhere would cost
      more than all the rest of the write. Their keys have the order of the tasks then, which is
      that of the frame.
    - Very few rows of which each key must have one task have one task in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from arctic.job.write.plan_shuffle import learnt_shares, plan_shuffle, spread_job
from arctic.job.write.shuffle import ARRIVAL_COLUMN, ROW_HASH_COLUMN, TASK_COLUMN, ShufflePlan
from arctic.job.write.told_spread import told_spread
from arctic.job.write.write_job import WriteJob, joining_few
from arctic.spark.base.private_names import is_classic
from arctic.spark.base.quoted import quoted
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.write.narrow_input import is_narrow
from arctic.spark.write.node_column import task_column
from arctic.spark.write.sampled_shares import sampled_shares
from arctic.table.hot_partitions import PartitionShares

_TASKS_PER_CORE = 3
"""Enough to even out skew; each one costs a Python worker's start and its own files."""
_MOST_IN_PLACE = 2
"""Tasks that write few rows where they are: so often the files of a shuffled write, at most."""
_FEW_TASKS_THREADS = 2
"""That encode the files of each task where there are so few of them."""
_IN_PLACE_BYTES = 64 << 20
"""Above this, more tasks pay."""
_ONE_TASK_BYTES = 4 << 20
"""Up to this, one task has written them before others would have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRows:
    """The rows of a write, where they are to be written."""

    frame: DataFrame
    """With helper columns, where they were sent to other tasks."""
    job: WriteJob
    """The write of that frame."""
    told: Mapping[str, str]
    """Further options for a process that begins the write of the frame by itself."""


def spread_rows(
    frame: DataFrame, job: WriteJob, *, shares: PartitionShares | None = None
) -> SpreadRows:
    """Send the rows of a frame to where they are to be written.

    Args:
        frame: the rows as the user has them.
        job: the write of them, as it began.
        shares: what part of the rows partitions are thought to have; None: as the table has it.
    """
    known = shares if shares is not None and shares.shares else None
    plan = plan_shuffle(job, frame.columns, shares=known)
    max_tasks = job.max_tasks
    if plan is None:
        fewer = frame if max_tasks is None else frame.coalesce(max_tasks)
        return SpreadRows(frame=fewer, job=job, told={})
    count = _task_count(frame.sparkSession, plan)
    count = count if max_tasks is None else min(count, max_tasks)
    # A stream that knows what part of the rows partitions have divides them, however few they are.
    is_few = shares is None and is_narrow(
        frame,
        most_tasks=min(_MOST_IN_PLACE, count),
        most_bytes=_IN_PLACE_BYTES if plan.may_stay else _ONE_TASK_BYTES,
        may_grow=plan.may_stay,
    )
    if is_few:
        job = of_few_tasks(job, frame.sparkSession)
    if is_few and plan.may_stay:
        return SpreadRows(frame=frame, job=job, told={})
    arrived = frame.withColumn(ARRIVAL_COLUMN, F.monotonically_increasing_id())
    if is_few:
        sent = arrived.withColumn(TASK_COLUMN, F.lit(0)).coalesce(1)
    else:
        if shares is None and plan.partition_arrays is not None:
            # Asked only where rows are sent to other tasks: it reads metadata, or some of the rows.
            known = learnt_shares(job) or sampled_shares(frame, job.target, task_count=count)
            plan = plan_shuffle(job, frame.columns, shares=known) or plan
        plan = plan.for_tasks(count)
        sent = arrived.withColumn(TASK_COLUMN, _task_column(frame, plan, count))
        sent = sent.repartitionById(count, F.col(TASK_COLUMN))
    spread = sent.sortWithinPartitions(
        *[_sort_column(frame, name) for name in plan.sort_columns], ARRIVAL_COLUMN
    )
    return SpreadRows(
        frame=spread,
        job=spread_job(job, arrow_schema(spread.schema), deep_nodes=plan.deep_nodes),
        told=told_spread(job, plan),
    )


def of_few_tasks(job: WriteJob, session: SparkSession) -> WriteJob:
    """Return a write of at most two tasks, as each of them does it.

    Args:
        job: the write, as it began.
        session: a classic one.
    """
    # Of two tasks one may have all rows: Spark cuts a file where no row group begins.
    threads = min(_FEW_TASKS_THREADS, session.sparkContext.defaultParallelism)
    return joining_few(replace(job, work=replace(job.work, threads=threads)))


def _sort_column(frame: DataFrame, name: str) -> Column:
    column, kind = F.col(quoted(name)), frame.schema[name].dataType
    # By its bytes, whatever its collation: so texts are told apart once Spark has handed them over.
    is_collated = isinstance(kind, StringType) and kind != StringType()
    return column.cast("binary") if is_collated else column


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
    if is_classic(session):  # A Connect client does not know the cluster's size.
        count = min(count, _TASKS_PER_CORE * session.sparkContext.defaultParallelism)
    return count if plan.max_tasks is None else min(count, plan.max_tasks)
