"""The task of a row as an expression of Spark's, where the key allows it.

Strategy: a node is the low bits of the key's hash, and that of whole numbers and dates is a few
shifts. Computed by Spark itself, the keys need not go to a Python worker and back before the
shuffle.

Rules:
    - The tasks are those of ``ShufflePlan.task_ids``, and tests hold them equal; the truth of the
      hash is in ``arctic.tree.key_hash``.
    - All arithmetic is on 64 bits and cannot overflow, so it is the same with ANSI mode on and off.

Must not know: partitions, tables.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StructType,
)

from arctic.job.write.shuffle import ShufflePlan
from arctic.spark.base.quoted import quoted

_WORD = 0xFFFFFFFF
_SIGN = 1 << 31
_WHOLE = (ByteType, ShortType, IntegerType)
_FITTING: dict[str, tuple[type[DataType], ...]] = {
    "int": _WHOLE,
    "long": (*_WHOLE, LongType),
    "date": (DateType,),
}
"""The types of a frame that are hashed as they are; others are cast, which may refuse a value."""


def task_column(plan: ShufflePlan, schema: StructType, task_count: int) -> Column | None:
    """Return the task of each row, an int and not null; None: the plan must compute it.

    Args:
        plan: for ``task_count`` tasks.
        schema: of the frame.
        task_count: tasks to spread over, at least 1.
    """
    if plan.partition_arrays is not None or not plan.key or not _fits(plan, schema):
        return None
    elements = [
        F.coalesce(_element(name, kind), F.lit(0).cast("long"))
        for name, kind in zip(plan.key, plan.key_types, strict=True)
    ]
    total = reduce(_joined, elements, F.lit(1).cast("long"))
    # As Java's Math.abs on 32 bits; the least number, which has none, becomes the greatest.
    magnitude = F.when(total > _SIGN, F.lit(_WORD + 1) - total).otherwise(total)
    key_hash = F.when(total == _SIGN, F.lit(_SIGN - 1).cast("long")).otherwise(magnitude)
    return (key_hash.bitwiseAND(F.lit(plan.mask).cast("long")) % task_count).cast("int")


def _fits(plan: ShufflePlan, schema: StructType) -> bool:
    return all(
        isinstance(schema[name].dataType, _FITTING.get(kind, ()))
        for name, kind in zip(plan.key, plan.key_types, strict=True)
    )


def _element(name: str, kind: str) -> Column:
    """Return the hash of one column's value as an unsigned word; null where the value is."""
    column = F.col(quoted(name))
    if kind == "date":
        column = F.unix_date(column)
    column = column.cast("long")
    if kind == "long":
        column = column.bitwiseXOR(F.shiftrightunsigned(column, 32))
    return column.bitwiseAND(F.lit(_WORD))


def _joined(total: Column, element: Column) -> Column:
    return (total * 31 + element).bitwiseAND(F.lit(_WORD))
