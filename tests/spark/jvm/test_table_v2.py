"""Scans that plan for themselves: right first, then only what a query needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import arctic
from arctic.spark.base.private_names import jvm
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.jvm.compiled import compiled
from arctic.spark.jvm.driver_planner import DriverPlanner
from arctic.spark.jvm.extension import CONF
from arctic.spark.jvm.table_v2 import install_own_scans
from arctic.spark.session import register
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

MERGED = {"read.deletion-vector.min-rows": "1000000000"}
"""Python merges, however few the files are."""

TYPED = """
SELECT * FROM VALUES
  (1, 10, 'a',  true,  DATE'2024-01-01', TIMESTAMP'2024-01-01 00:00:00',
   TIMESTAMP_NTZ'2024-01-01 00:00:00', 1.50BD, X'00', 1.0D),
  (2, 20, 'ab', false, DATE'1883-11-18', TIMESTAMP'1883-11-18 12:00:00.000001',
   TIMESTAMP_NTZ'1883-11-18 12:00:00.000001', -2.25BD, X'FF', double('NaN')),
  (3, 30, 'b',  null,  DATE'9999-12-31', TIMESTAMP'2024-03-31 02:30:00',
   TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', 0.00BD, X'00FF', -0.0D),
  (4, null, null, null, null, null, null, null, null, null),
  (5, -1, 'ß𝄞', true, DATE'1582-10-10', TIMESTAMP'1582-10-10 00:00:00',
   TIMESTAMP_NTZ'0001-01-01 00:00:00', 99999999.99BD, X'', double('Infinity'))
AS t(id, n, name, flag, day, at, wall, price, raw, ratio)
"""
FILTERS = [
    "true",
    "id = 3",
    "id IN (1, 4, 99)",
    "id NOT IN (1, 4)",
    "n IN (10, null)",
    "n NOT IN (10, null)",
    "n > 10 OR name IS NULL",
    "NOT (n > 10 AND name < 'b')",
    "n <=> null",
    "NOT (n <=> 10)",
    "NOT (n = 10)",
    "n BETWEEN -1 AND 20",
    "15 < n",
    "n = 10.5",
    "CAST(n AS double) = 20",
    "n = 3000000000",
    "name LIKE 'a%'",
    "NOT name LIKE 'a%'",
    "name = 'ß𝄞'",
    "name > 'b'",
    "lower(name) = 'a'",
    "name COLLATE UTF8_LCASE = 'AB'",
    "flag",
    "NOT flag",
    "flag = false OR flag IS NULL",
    "day = DATE'2024-01-01'",
    "day < DATE'1900-01-01'",
    "day >= DATE'9999-12-31'",
    "at = TIMESTAMP'2024-01-01 00:00:00'",
    "at > TIMESTAMP'2024-01-01 00:00:00+00:00'",
    "at <= TIMESTAMP'1883-11-18 12:00:00.000001'",
    "at < TIMESTAMP'1582-10-15 00:00:00'",
    "at < DATE'2024-01-01'",
    "wall = TIMESTAMP_NTZ'1883-11-18 12:00:00.000001'",
    "wall < TIMESTAMP_NTZ'0001-01-02 00:00:00'",
    "price = 1.5",
    "price < 0.001",
    "price IN (0, 99999999.99)",
    "raw = X'00'",
    "raw > X'00'",
    "ratio = double('NaN')",
    "ratio > 1",
    "ratio = 0",
    "ratio IS NOT NULL",
]


@pytest.fixture
def typed(lake: Lake) -> Iterator[tuple[str, str]]:
    """A table of many types, each row in a file of its own, and the same rows in Spark's memory."""
    frame = lake.spark.sql(TYPED)
    rows = frame.toArrow()
    lake.create(schema=arrow_schema(frame.schema))
    for place in range(rows.num_rows):
        arctic.write(NAME, rows.slice(place, 1), mode="upsert", warehouse=lake.warehouse)
    frame.createOrReplaceTempView("plain")
    # Few tasks for each of many scans: the filters are what is tested here.
    lake.view("pruned", parallelism="1", **MERGED)
    yield "pruned", "plain"
    lake.spark.catalog.dropTempView("plain")
    lake.spark.catalog.dropTempView("pruned")


def _answers(lake: Lake, view: str) -> dict[str, list[int]]:
    parts = [
        f"SELECT {number} AS place, id FROM {view} WHERE {condition}"
        for number, condition in enumerate(FILTERS)
    ]
    found: dict[str, list[int]] = {condition: [] for condition in FILTERS}
    for row in lake.spark.sql(" UNION ALL ".join(parts)).collect():
        found[FILTERS[row.place]].append(row.id)
    return {condition: sorted(ids) for condition, ids in found.items()}


def test_every_filter_keeps_the_rows_that_spark_keeps(lake: Lake, typed: tuple[str, str]) -> None:
    """Nulls, NaN, time zones, old calendars and exact decimals included; all in one query."""
    pruned, plain = typed

    assert _answers(lake, pruned) == _answers(lake, plain)


ROWS = [(number, region, float(number)) for number, region in enumerate(["eu", "us"] * 5)]


def _partitioned(lake: Lake) -> DataFrame:
    lake.create(primary_key=("id", "region"), partition_by=("region",))
    lake.put(ROWS)
    return lake.load(**MERGED)


def test_the_filter_of_one_query_is_not_that_of_the_next(lake: Lake) -> None:
    """On one frame and on one view, one after the other and in one query."""
    frame = _partitioned(lake)
    lake.view("shared")
    one, two = frame.where("id = 1"), frame.where("id = 2")

    assert one.count() == 1
    assert frame.count() == 10
    assert sorted(row.id for row in one.union(two).collect()) == [1, 2]
    assert one.crossJoin(two.select("amount")).count() == 1
    assert (
        lake.spark.sql(
            "SELECT a.id FROM shared a JOIN shared b ON a.id = b.id + 1 "
            "WHERE a.region = 'eu' AND b.region = 'us' AND a.id > (SELECT min(id) FROM shared) + 2"
        ).count()
        == 3
    )


def test_a_frame_sees_a_commit_that_is_made_after_its_first_query(lake: Lake) -> None:
    """Each query pins the table anew."""
    frame = _partitioned(lake)
    before = frame.count()
    lake.put([(100, "eu", 0.0)])

    assert (before, frame.where("true").count()) == (10, 11)


def test_files_that_cannot_match_are_not_opened(lake: Lake) -> None:
    """Proved by removing them."""
    frame = _partitioned(lake)
    for folder in Path(lake.warehouse).rglob("region=us"):
        shutil.rmtree(folder)

    assert frame.where("region = 'eu' AND amount > 2").count() == 3
    assert frame.where("region IN ('eu', 'ap') OR id < -5").count() == 5


def test_only_the_columns_of_the_query_are_read(lake: Lake) -> None:
    """Spark's plan says so; a count needs the cheapest one."""
    frame = _partitioned(lake)
    plan = frame.select("amount").where("region = 'eu'")._jdf.queryExecution().executedPlan()
    count = frame.groupBy().count()._jdf.queryExecution().executedPlan()

    assert "arctic[region#" in plan.toString()
    assert "id#" not in plan.toString()
    assert "arctic[id#" in count.toString()
    assert "region#" not in count.toString()


def test_a_session_without_own_scans_reads_the_same(lake: Lake) -> None:
    """More slowly, and found without register(), by the module's name."""
    _partitioned(lake)
    plain = lake.spark.newSession()
    other = Lake(spark=plain, warehouse=lake.warehouse)

    assert other.rows() == ROWS
    assert other.load().where("region = 'us'").select("id").count() == 5
    assert plain.conf.get(CONF, None) is None


REPLACEMENT = "SELECT 1L AS id, 'us' AS region, -1.0D AS amount"


def test_registering_again_changes_nothing(lake: Lake) -> None:
    """In the same session, in a new one, and where own scans are not wanted."""
    _partitioned(lake)
    register(lake.spark)
    second = lake.spark.newSession()
    register(second)
    register(second)
    third = lake.spark.newSession()
    third.conf.set(CONF, "false")
    register(third)

    assert install_own_scans(second)
    assert not install_own_scans(third)
    Lake(spark=second, warehouse=lake.warehouse).save(second.sql(REPLACEMENT), "upsert")
    for session in (lake.spark, second, third):
        frame = Lake(spark=session, warehouse=lake.warehouse).load()
        assert frame.where("region = 'us' AND amount < 0").count() == 1


class Heard(DriverPlanner):
    """Counts what it is asked."""

    count = 0

    def apply(self, question: Any) -> Any:
        """Answer."""
        self.count += 1
        return super().apply(question)


def test_whoever_registers_answers_where_nobody_does(lake: Lake) -> None:
    """Also a session that has its scans already, or wants none; a rule asks whom there is now."""
    function = compiled(jvm(lake.spark)).loadClass("arctic.spark.Callback").getField("function")
    plain = lake.spark.newSession()
    plain.conf.set(CONF, "false")
    heard = Heard(lake.spark)

    function.set(None, heard)
    _partitioned(lake).collect()
    asked = heard.count
    for session in (plain, lake.spark):
        function.set(None, None)
        register(session)
        assert function.get(None) is not None
        session.sql("SHOW NAMESPACES IN arctic").collect()
    assert asked > 0
    assert heard.count == asked
