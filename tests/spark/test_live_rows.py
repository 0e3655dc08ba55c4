"""Live rows are counted where a task reads whole files, and found by their places elsewhere."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame

from arctic.spark.read import reader
from tests.spark.lake import Lake, shown_plan, with_settings
from tests.spark.test_clean_files import SCHEMA, put, result, rows
from tests.spark.test_deletion_vectors import MERGE, VECTORS

pytestmark = pytest.mark.spark

COUNT = 6_000


def counts(frame: DataFrame) -> bool:
    """Say whether Spark counts rows, and reads no places."""
    plan = shown_plan(frame)
    return "ArcticLiveRows" in plan and "_tmp_metadata_row_index" not in plan


@pytest.fixture
def many(lake: Lake) -> Lake:
    """Files of many row groups, most of them with dead rows, of several nodes and writes."""
    lake.create(
        schema=SCHEMA,
        properties={"base.file-index.hash-bucket": "4", "write.parquet.row-group-limit": "100"},
    )
    put(lake, rows(0, COUNT), "overwrite")
    some = [number for number in range(COUNT) if random.Random(number).random() < 0.2]
    changed = pc.is_in(rows(0, COUNT)["id"], pa.array(some))
    put(lake, rows(0, COUNT, factor=2).filter(changed), "upsert")
    put(lake, rows(COUNT // 3, COUNT // 2), "delete")
    put(lake, rows(COUNT, COUNT + 50), "upsert")
    return lake


@pytest.mark.parametrize("bytes_", ["128m", "20000"], ids="{} in a partition".format)
def test_rows_are_counted_in_whole_files(many: Lake, bytes_: str) -> None:
    """Whatever files a task reads one after the other."""
    with with_settings(many.spark, {"spark.sql.files.maxPartitionBytes": bytes_}):
        frame = many.load(**VECTORS).select("id", "region", "amount", "price", "at")
        found = result(frame)

        assert counts(frame)
        assert found == result(many.load(**MERGE).select("id", "region", "amount", "price", "at"))
        assert (
            many.load(**VECTORS).selectExpr("count(amount)").collect()
            == many.load(**MERGE).selectExpr("count(amount)").collect()
        )


def test_rows_of_one_task_are_counted_file_by_file(many: Lake) -> None:
    """A task may read several partitions, or stop early in one."""
    frame = many.load(**VECTORS).select("id", "price")
    expected = {*result(many.load(**MERGE).select("id", "price"))}

    assert {*result(frame.coalesce(1))} == expected
    for limit in (1, 150, 2_000):
        some = result(frame.limit(limit))
        assert len(some) == limit
        assert {*some} <= expected


def test_a_filter_has_places_read(many: Lake) -> None:
    """By it Spark's reader leaves out pages and row groups, and counts nothing of them."""
    frame = many.load(**VECTORS).select("id", "price").where("id >= 5000 and id < 5200")

    assert "ArcticLiveRows" not in shown_plan(frame)
    assert "_tmp_metadata_row_index" in shown_plan(frame)
    by_merge = many.load(**MERGE).select("id", "price").where("id >= 5000 and id < 5200")
    assert result(frame) == result(by_merge)


@pytest.mark.parametrize(
    "condition",
    [
        "amount > 1e3 and not isnan(amount)",
        "amount = 0 or id < 9",
        "id >= amount",
        "amount >= (select max(amount) - 100 from {0})",
    ],
)
def test_a_filter_that_no_reader_is_given_has_none(many: Lake, condition: str) -> None:
    """All rows are read whatever it says: of floating columns, whose bounds say nothing of NaN."""
    many.load(**MERGE).createOrReplaceTempView("merged")
    frame = many.load(**VECTORS).select("id", "price").where(condition.format("merged"))

    assert counts(frame)
    by_merge = many.load(**MERGE).select("id", "price").where(condition.format("merged"))
    assert result(frame) == result(by_merge) != []


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.codegen.wholeStage": "false"},
        {"spark.sql.codegen.maxFields": "1"},
        {"spark.sql.codegen.hugeMethodLimit": "1"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"},
    ],
    ids=str,
)
def test_what_is_not_compiled_has_places_read(many: Lake, settings: dict[str, str]) -> None:
    """Executors that interpret a plan have no classes of ours to count with."""
    expected = result(many.load(**MERGE).select("id", "price"))

    with with_settings(many.spark, settings):
        frame = many.load(**VECTORS).select("id", "price")
        assert "ArcticLiveRows" in shown_plan(frame)
        assert result(frame) == expected
        assert result(frame.selectExpr("price", "id + 1")) == result(
            many.load(**MERGE).selectExpr("price", "id + 1")
        )


def test_plans_that_read_the_same_rows_are_the_same(many: Lake) -> None:
    """Spark then shuffles them once."""
    sums = many.load(**VECTORS).groupBy("region").count()
    both = sums.union(sums)
    with with_settings(
        many.spark,
        {"spark.sql.adaptive.enabled": "false", "spark.arctic.aggregateWithArrow": "false"},
    ):
        assert "ReusedExchange" in shown_plan(both)
        assert len(both.collect()) == 2 * 3


def test_a_file_of_other_rows_than_were_counted_fails(
    many: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that follow would be taken for others."""
    really = reader._answer

    def miscounted(*given: Any) -> Any:
        answer = really(*given)
        # In the same whole bytes of bits.
        return replace(answer, row_counts=[n - 1 if n % 8 > 1 else n for n in answer.row_counts])

    monkeypatch.setattr(reader, "_answer", miscounted)
    with pytest.raises(Exception, match="has other rows than were looked up"):
        many.load(**VECTORS).select("id", "price").collect()
