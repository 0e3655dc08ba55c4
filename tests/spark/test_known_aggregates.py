"""Aggregates that metadata answers: what the rows would say, and no task of Spark's."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from arctic.spark.base.spark_types import arrow_schema
from tests.spark.lake import NAME, Lake, shown_plan

pytestmark = pytest.mark.spark

TYPED = """
SELECT * FROM VALUES
  (1, 10, 'a',  DATE'2024-01-01', TIMESTAMP'2024-01-01 00:00:00',
   TIMESTAMP_NTZ'2024-01-01 00:00:00', 1.50BD, 1.0D),
  (2, 20, 'ab', DATE'1883-11-18', TIMESTAMP'1883-11-18 12:00:00.000001',
   TIMESTAMP_NTZ'1883-11-18 12:00:00.000001', -2.25BD, double('NaN')),
  (3, null, null, null, null, null, null, null)
AS t(id, n, name, day, at, wall, price, ratio)
"""
KNOWN = [
    "count(*)",
    "count(1), count(n), count(name), count(ratio)",
    "min(id), max(id), min(n), max(n)",
    "min(day), max(day), min(at), max(at)",
    "min(wall), max(wall), min(price), max(price)",
    "max(id) - min(id) + count(*)",
]
READ = [
    "max(name)",
    "max(ratio)",
    "count(DISTINCT n)",
    "avg(n), sum(id)",
    "max(id + 1)",
    "count(*) FILTER (WHERE n > 10)",
]


@pytest.fixture
def typed(lake: Lake) -> DataFrame:
    """A table of settled rows, as view ``typed``; the same rows as view ``native``."""
    native = lake.spark.sql(TYPED)
    native.createOrReplaceTempView("native")
    lake.create(schema=arrow_schema(native.schema))
    lake.save(native, "overwrite")
    rows = lake.load()
    rows.createOrReplaceTempView("typed")
    return rows


@pytest.mark.parametrize("asked", [*KNOWN, *READ])
def test_the_values_are_those_of_the_rows(lake: Lake, typed: DataFrame, asked: str) -> None:
    """Known or read."""
    ours = lake.spark.sql(f"SELECT {asked} FROM typed").collect()

    # As texts: NaN equals no NaN.
    assert str(ours) == str(lake.spark.sql(f"SELECT {asked} FROM native").collect())


@pytest.mark.parametrize(
    ("asked", "known"), [*((q, True) for q in KNOWN), *((q, False) for q in READ)]
)
def test_what_metadata_says_is_not_read(
    lake: Lake, typed: DataFrame, asked: str, known: bool
) -> None:
    """The plan of such a query holds its one row."""
    plan = shown_plan(lake.spark.sql(f"SELECT {asked} FROM typed"))

    assert ("LocalTableScan" in plan) == known


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM {rows} WHERE id > 1",
        "SELECT n, count(*) FROM {rows} GROUP BY n ORDER BY n",
        "SELECT count(*) FROM (SELECT * FROM {rows} LIMIT 2)",
        "SELECT (SELECT max(id) FROM {rows}), count(*) FROM {rows} WHERE id < "
        "(SELECT max(id) FROM {rows})",
        "SELECT count(*), max(id) FROM {rows} HAVING count(*) > 2",
        "SELECT count(*) FROM {rows} UNION ALL SELECT max(n) FROM {rows} ORDER BY 1",
        "SELECT count(*) FROM {rows} a JOIN {rows} b ON a.id = b.id",
    ],
)
def test_other_shapes_are_right(lake: Lake, typed: DataFrame, query: str) -> None:
    """With filters, groups, limits and joins around them."""
    ours = lake.spark.sql(query.format(rows="typed")).collect()

    assert ours == lake.spark.sql(query.format(rows="native")).collect()


def test_changes_are_merged_before_they_are_counted(lake: Lake) -> None:
    """A row that was replaced counts once; an old state counts as it was."""
    lake.create()
    lake.put([(1, "a", 1.0), (2, "b", 2.0)], "overwrite")
    rows = lake.load()
    assert rows.count() == 2

    lake.put([(2, "b", 3.0), (3, "c", 4.0)])

    assert rows.count() == 3
    assert lake.load().groupBy().max("id").collect()[0][0] == 3


def test_a_metadata_table_is_counted_by_its_rows(lake: Lake) -> None:
    """It has no files of its own."""
    lake.create()
    lake.put([(1, "a", 1.0)])

    assert lake.load("db.events.snapshots").count() == 1


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("id long, n long", "max(n)"),
        ("id long, n boolean", "min(n)"),
        ("id long, n string", "count(n)"),
        ("id timestamp, n int", "max(id)"),
    ],
)
def test_another_type_than_the_tables_is_refused(lake: Lake, given: str, asked: str) -> None:
    """As it is where rows are read."""
    lake.create(schema=pa.schema({"id": pa.int64(), "n": pa.int32()}))
    lake.save(lake.frame([(1, 7)], "id long, n int"), "overwrite")
    reader = lake.spark.read.format("arctic").option("warehouse", lake.warehouse).schema(given)

    with pytest.raises(AnalysisException, match="but the given schema says"):
        reader.load(NAME).selectExpr(asked).collect()


def test_a_frame_from_before_a_type_grew_gets_no_cut_value(lake: Lake) -> None:
    """It is refused, as reading its rows is."""
    table = lake.create(schema=pa.schema({"id": pa.int64(), "n": pa.int32()}))
    lake.save(lake.frame([(1, 7)], "id long, n int"), "overwrite")
    frame = lake.load()
    assert frame.selectExpr("max(n)").collect()[0][0] == 7
    table.evolve_schema(widen={"n": pa.int64()})
    lake.save(lake.frame([(2, 2**32 + 7)], "id long, n long"), "append")

    with pytest.raises(AnalysisException, match="int64 in the table"):
        frame.selectExpr("max(n)").collect()
    assert lake.load().selectExpr("max(n)").collect()[0][0] == 2**32 + 7
