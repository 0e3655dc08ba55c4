"""What Spark's own scan leaves out by what files say of their pages and values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame

import arctic
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

COUNT = 200_000
SCHEMA = pa.schema(
    [("id", pa.int64()), ("a", pa.int64()), ("b", pa.int64()), ("email", pa.string())]
)


def rows() -> pa.Table:
    """Return rows in no order but that of the key; every second number is there."""
    noise = np.random.default_rng(1)
    numbers = 2 * noise.permutation(COUNT)
    return pa.table(
        {
            "id": np.arange(COUNT),
            "a": noise.integers(10**6, size=COUNT),
            "b": numbers,
            "email": [f"u{each}@x.org" for each in numbers],
        },
        schema=SCHEMA,
    )


def scanned(frame: DataFrame) -> int:
    """Return how many rows the scan of a frame has handed on."""
    frame.collect()
    plan: Any = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    return sum(
        leaves.apply(number).metrics().apply("numOutputRows").value()
        for number in range(leaves.size())
    )


def test_spark_reads_the_pages_and_row_groups_that_can_hold_a_value(lake: Lake) -> None:
    """Of the sort column the pages with it; of an indexed one no row group without it."""
    data = rows()
    arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        sort_by="a",
        index=["b", "email"],
        properties={"base.file-index.hash-bucket": "1"},
        warehouse=lake.warehouse,
    ).write(data, mode="overwrite")

    wanted = data.filter(pc.less(data["a"], 5_000))
    sorted_out = lake.load().where("a < 5000")
    assert sorted_out.count() == wanted.num_rows
    # Pages have 20,000 rows at most; without their bounds all rows of the row group come.
    assert scanned(sorted_out.select("id", "a")) <= 40_000
    assert scanned(lake.load().where("b >= 0").select("id", "b")) == COUNT
    for condition, count in (
        ("b = 7", 0),
        ("email = 'u7@x.org'", 0),
        (f"email = '{data['email'][9].as_py()}'", 1),
    ):
        frame = lake.load().where(condition).select("id", "a")
        assert len(frame.collect()) == count
        assert (scanned(frame) > 0) is (count > 0), condition
