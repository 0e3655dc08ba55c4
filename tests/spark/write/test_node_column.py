"""The task of a row, computed by Spark, is the one that the plan computes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from arctic.job.write.shuffle import ShufflePlan
from arctic.spark.write.node_column import task_column
from tests.factories.numbers import INTS, LONGS

pytestmark = pytest.mark.spark

_LONGS = LONGS | st.sampled_from([0, -1, 2**31, -(2**31), 2**32])
_DAYS = st.dates(dt.date(1000, 1, 1), dt.date(9999, 12, 31))
_SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int32()), ("c", pa.date32())])
_LEAST = (-(2**63), -(2**31), dt.date(1970, 1, 1))


def _plan(schema: pa.Schema, *key: str, mask: int = 3, **more: Any) -> ShufflePlan:
    kinds = {pa.int64(): "long", pa.int32(): "int", pa.date32(): "date", pa.string(): "string"}
    return ShufflePlan(
        columns=key,
        schema=pa.schema([schema.field(name) for name in key]),
        sort_columns=(),
        max_tasks=None,
        key=key,
        key_types=tuple(kinds[schema.field(name).type] for name in key),
        mask=mask,
        partition_arrays=more.get("partition_arrays"),
        partition_path=str,
    )


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(st.tuples(_LONGS, INTS, _DAYS), min_size=1, max_size=200),
    ansi=st.booleans(),
    count=st.sampled_from([1, 3, 8, 64]),
)
def test_tasks_are_those_of_the_plan(
    spark: SparkSession, rows: list[tuple[Any, ...]], ansi: bool, count: int
) -> None:
    """For every number, in either mode of arithmetic."""
    plan = _plan(_SCHEMA, "a", "b", "c", mask=63)
    rows = [*rows, _LEAST]
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        frame = spark.createDataFrame(rows, "a long, b int, c date").coalesce(1)
        column = task_column(plan, frame.schema, count)
        assert column is not None
        tasks = [row[0] for row in frame.select(column).collect()]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")

    table = pa.table([list(each) for each in zip(*rows, strict=True)], schema=_SCHEMA)
    arrays = [column.combine_chunks() for column in table.columns]
    assert tasks == plan.task_ids(arrays, count).to_pylist()


def test_the_hash_without_an_absolute_value_becomes_the_greatest(spark: SparkSession) -> None:
    """Of the long 2**31 - 31 it is -2**31, as in Java."""
    plan = _plan(_SCHEMA, "a")
    keys = [2**31 - 31, 2**31 - 30, 2**31 - 32]
    frame = spark.createDataFrame([(key, 1, None) for key in keys], "a long, b int, c date")
    column = task_column(plan, frame.schema, 4)
    assert column is not None

    tasks = [row[0] for row in frame.coalesce(1).select(column).collect()]
    assert tasks == plan.task_ids([pa.array(keys)], 4).to_pylist() == [3, 3, 3]


def test_a_null_key_goes_where_the_plan_sends_it(spark: SparkSession) -> None:
    """The write then refuses it, naming the row."""
    plan = _plan(_SCHEMA, "a")
    frame = spark.sql("SELECT CAST(NULL AS long) AS a, 1 AS b, current_date() AS c")
    column = task_column(plan, frame.schema, 4)
    assert column is not None

    assert (
        frame.select(column).collect()[0][0]
        == plan.task_ids([pa.nulls(1, pa.int64())], 4).to_pylist()[0]
    )


@pytest.mark.parametrize(
    ("kind", "frame", "is_known"),
    [
        pytest.param(pa.int64(), "a short", True, id="narrower"),
        pytest.param(pa.int32(), "a long", False, id="wider"),
        pytest.param(pa.int64(), "a string", False, id="other"),
        pytest.param(pa.string(), "a string", False, id="text"),
    ],
)
def test_only_keys_that_spark_hashes_alike_are_left_to_it(
    spark: SparkSession, kind: pa.DataType, frame: str, is_known: bool
) -> None:
    """The plan computes the tasks of all others."""
    plan = _plan(pa.schema([("a", kind)]), "a")
    given = spark.createDataFrame([], frame).schema

    assert (task_column(plan, given, 4) is not None) == is_known


def test_partitions_are_left_to_the_plan(spark: SparkSession) -> None:
    """It knows their transforms."""
    plan = _plan(_SCHEMA, "a", "b", partition_arrays=lambda batch: [batch.column("b")])
    given = spark.createDataFrame([], "a long, b int, c date").schema

    assert task_column(plan, given, 4) is None
