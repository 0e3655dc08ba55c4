"""Aggregates that tasks make in parts: what Spark says of the rows, whoever adds them up."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException, IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

import arctic
from arctic.job.read import partial_scan
from arctic.mor import partial_aggregates
from arctic.scan import worth_grouping
from arctic.spark.jvm import driver_planner
from tests.spark.lake import NAME, Lake, shown_plan, with_settings

pytestmark = pytest.mark.spark

CONF = "spark.arctic.aggregateWithArrow"
MADE = "aggregated by each task"
ROWS = 60_000
TYPED = f"""
SELECT id, CAST(id % 7 AS INT) n, CAST(id * 1000003 % 1000 - 500 AS BIGINT) wide,
  IF(id % 11 = 0, NULL, concat('r', id % 5)) region, id % 3 = 0 flag,
  date_add(DATE'1969-12-20', CAST(id % 9 AS INT)) day,
  timestamp_micros(id % 4 * 3600000001) at, CAST(id % 6 AS STRING) text,
  IF(id % 13 = 0, NULL, CAST(id % 1000 AS DECIMAL(9, 2)) / 4) price0,
  CAST(IF(id % 13 = 0, NULL, id % 977 / 8) AS DECIMAL(12, 2)) price,
  CAST(NULL AS INT) nothing, CAST(id AS DOUBLE) / 8 ratio,
  CAST(concat('b', id % 2) AS BINARY) raw
FROM range({ROWS})
"""
COLUMNS = "id, n, wide, region, flag, day, at, text, price, nothing, ratio, raw"


@pytest.fixture(scope="module")
def typed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, ...]]:
    """Views of a table with changes, of one without, of one without a key, and their least rows.

    That with changes is there once more, by its name in a catalog.
    """
    folder = str(tmp_path_factory.mktemp("partial"))
    names = ("changed", "settled", "keyless")
    rows = spark.sql(f"SELECT {COLUMNS} FROM ({TYPED})").toArrow()
    for name in names:
        key = [] if name == "keyless" else ["id"]
        required = pa.schema([rows.schema.field(0).with_nullable(False), *list(rows.schema)[1:]])
        arctic.create_table(f"db.{name}", required, primary_key=key, warehouse=folder)
        table = rows.cast(required)
        arctic.write(f"db.{name}", table, mode="overwrite", warehouse=folder)
        if name == "changed":
            moved = table.slice(0, 9_000)
            arctic.write("db.changed", moved, mode="upsert", warehouse=folder)
            gone = table.select(["id"]).slice(20_000, 300)
            arctic.write("db.changed", gone, mode="delete", warehouse=folder)
        reader = spark.read.format("arctic").option("warehouse", folder)
        reader.load(f"db.{name}").createOrReplaceTempView(name)
    with pytest.MonkeyPatch.context() as patch:
        take_few_rows(patch)
        patch.setenv("ARCTIC_WAREHOUSE", folder)
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW by_name AS SELECT * FROM arctic.db.changed")
        yield names


@pytest.fixture(autouse=True)
def wanted(spark: SparkSession) -> Iterator[None]:
    """Have tasks make aggregates, as a user asks for it."""
    with with_settings(spark, {"spark.arctic.aggregateWithArrow": "true"}):
        yield


def take_few_rows(patch: pytest.MonkeyPatch) -> None:
    """Have tasks make aggregates of small tables."""
    patch.setattr(partial_scan, "LEAST_ROWS", 1)
    patch.setattr(worth_grouping, "LEAST_ROWS_OF_A_GROUP", 1)


def same(spark: SparkSession, query: str, *, made: bool = True, how: str = "true") -> DataFrame:
    """Hold a query against itself with the setting off, and say whether tasks made aggregates."""
    with with_settings(spark, {"spark.arctic.aggregateWithArrow": "false"}):
        plain = spark.sql(query)
        assert MADE not in shown_plan(plain)
        expected = sorted(map(str, plain.collect()))
    with with_settings(spark, {"spark.arctic.aggregateWithArrow": how}):
        frame = spark.sql(query)
        assert (MADE in shown_plan(frame)) == made, query
        assert sorted(map(str, frame.collect())) == expected, query
        assert frame.schema == plain.schema
    return frame


KEYS = ("n", "region", "flag", "day", "at", "text", "raw", "nothing")
FUNCTIONS = (
    "count(*)",
    "count(1)",
    "count({c})",
    "sum(n)",
    "sum(wide)",
    "sum(price)",
    "sum(nothing)",
    "avg(n)",
    "avg(price)",
    "try_sum(wide)",
    "min(region)",
    "max(text)",
    "min(day)",
    "max(at)",
    "max(price)",
    "min(wide)",
)


@pytest.mark.parametrize("table", ["changed", "settled", "keyless"])
def test_drawn_queries_are_as_without(
    spark: SparkSession, typed: tuple[str, ...], table: str
) -> None:
    """Keys and aggregates of every type that has them."""
    draw = random.Random(table)
    for _ in range(5):
        keys = draw.sample(KEYS, draw.randint(0, 2))
        functions = draw.sample(FUNCTIONS, draw.randint(1, 5))
        asked = [each.format(c=draw.choice(KEYS)) for each in functions]
        # Metadata answers some without keys.
        asked += [] if keys else ["sum(n) + 1"]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        made = bool(keys) or table == "changed"
        same(spark, f"SELECT {', '.join([*keys, *asked])} FROM {table}{by}", made=made)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT region, flag FROM changed",
        "SELECT region, sum(n) s FROM changed GROUP BY region HAVING sum(n) > 9 ORDER BY s LIMIT 2",
        "SELECT sum(n) FROM changed UNION ALL SELECT sum(n) FROM settled",
        "SELECT region, (SELECT max(text) FROM settled) FROM (SELECT DISTINCT region FROM changed)",
        "SELECT a.flag, a.s, b.s FROM (SELECT flag, sum(n) s FROM changed GROUP BY flag) a JOIN "
        "(SELECT flag, sum(wide) s FROM changed GROUP BY flag) b ON a.flag <=> b.flag",
        "SELECT region, sum(n) FROM settled WHERE n > 2 AND region IS NOT NULL GROUP BY region",
        "SELECT region, sum(n) FROM by_name WHERE n > 2 GROUP BY region",
        "SELECT sum(wide) FROM changed WHERE price IN (1.5, 3) OR NOT (day > DATE'1970-01-01')",
        "SELECT DISTINCT flag FROM (SELECT * FROM changed WHERE wide < 400) WHERE text = '3'",
        "SELECT flag, count(*) FROM keyless WHERE id < 100 AND nothing IS NULL GROUP BY flag",
        "SELECT id, (SELECT sum(n) FROM changed WHERE n < 3) s FROM settled WHERE id < 5",
    ],
)
def test_other_shapes_are_as_without(
    spark: SparkSession, typed: tuple[str, ...], query: str
) -> None:
    """With limits, unions, joins and subqueries around them."""
    same(spark, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(ratio) FROM settled",
        "SELECT sum(n) FROM settled",
        "SELECT ratio, count(*) FROM settled GROUP BY ratio",
        "SELECT id, sum(n) FROM settled GROUP BY id",
        "SELECT sum(n) FROM settled WHERE n > 2",
        "SELECT flag, count(*) FROM changed WHERE ratio > 2 GROUP BY flag",
        "SELECT flag, count(*) FROM changed WHERE n > 2 AND n + 1 > 2 GROUP BY flag",
        "SELECT flag, count(*) FROM changed WHERE n > 2 AND text LIKE '%3' GROUP BY flag",
        "SELECT flag, count(*) FROM changed WHERE n = wide GROUP BY flag",
        "SELECT flag, count(*) FROM changed WHERE n > 2 AND id + rand() >= 0 GROUP BY flag",
        "SELECT count(DISTINCT region) FROM settled",
        "SELECT region, sum(DISTINCT n) FROM settled GROUP BY region",
        "SELECT region, count(*) FILTER (WHERE n > 2) FROM settled GROUP BY region",
        "SELECT region, sum(n + 1) FROM settled GROUP BY region",
        "SELECT region, stddev(n) FROM settled GROUP BY region",
    ],
)
def test_what_spark_would_say_otherwise_or_faster_it_says(
    spark: SparkSession, typed: tuple[str, ...], query: str
) -> None:
    """It reads the rows."""
    same(spark, query, made=False)


def test_tasks_make_them_by_default(spark: SparkSession, typed: tuple[str, ...]) -> None:
    """As ``same`` asks it with the setting off and on."""
    spark.conf.unset(CONF)

    assert MADE in shown_plan(spark.sql("SELECT flag, count(*) FROM changed GROUP BY flag"))


def test_another_word_does_not_switch_it_on(spark: SparkSession, typed: tuple[str, ...]) -> None:
    """As with the other settings."""
    same(spark, "SELECT flag, count(*) FROM changed GROUP BY flag", how="False", made=False)


def test_floating_point_sums_are_left_to_spark_if_asked_for(
    spark: SparkSession, typed: tuple[str, ...]
) -> None:
    """These are the same in any order."""
    query = "SELECT flag, sum(ratio), avg(ratio) FROM changed GROUP BY flag"
    same(spark, query)
    same(spark, query, how="exact", made=False)


def test_spark_thinks_of_groups_as_of_the_rows(spark: SparkSession, typed: tuple[str, ...]) -> None:
    """They may be as many, and it sends everywhere what it takes for small."""
    query = "SELECT n, day, sum(wide) FROM changed GROUP BY n, day"
    sizes = []
    for how in ("false", "true"):
        with with_settings(spark, {CONF: how}):
            plan = spark.sql(query)._jdf.queryExecution().optimizedPlan()
            sizes.append(int(str(plan.stats().sizeInBytes())))

    rows, groups = sizes
    assert groups == pytest.approx(rows, rel=0.5)


def test_more_groups_than_have_room_are_added_up(
    spark: SparkSession, typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group comes out several times then."""
    monkeypatch.setattr(partial_aggregates, "MOST_GROUPS", 2)
    same(spark, "SELECT n, day, at, count(*), sum(price) FROM changed GROUP BY n, day, at")


def test_sums_that_overflow_fail_or_wrap_as_sparks_do(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the setting of the session; a part of one never does."""
    take_few_rows(monkeypatch)
    columns = pa.schema({"id": pa.int64(), "n": pa.int64(), "k": pa.string()})
    lake.create(schema=columns)
    rows = [(i, 2**62 + i, "a") for i in range(3)] + [(i, i, "b") for i in range(3, 999)]
    arctic.write(
        NAME,
        pa.table([list(each) for each in zip(*rows, strict=True)], schema=columns),
        mode="overwrite",
        warehouse=lake.warehouse,
    )
    lake.view("huge")
    query = "SELECT k, sum(n), count(n) FROM huge GROUP BY k"
    with with_settings(lake.spark, {"spark.sql.ansi.enabled": "false"}):
        same(lake.spark, query)
    with with_settings(lake.spark, {"spark.sql.ansi.enabled": "true"}):
        same(lake.spark, "SELECT k, try_sum(n) FROM huge GROUP BY k")
        # An average of such values is one of doubles.
        same(lake.spark, "SELECT k, avg(n) FROM huge GROUP BY k", made=False)
        frame = lake.spark.sql(query)
        assert MADE in shown_plan(frame)
        with pytest.raises(ArithmeticException, match="OVERFLOW"):
            frame.collect()


def test_a_plan_that_is_only_explained_looks_nothing_up(
    spark: SparkSession, typed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its tasks do is asked for when they begin, and a fault is the query's."""

    def fails(*_: object) -> None:
        raise LookupError("asked for its tasks")

    monkeypatch.setattr(driver_planner, "begun", fails)
    frame = spark.sql("SELECT flag, count(*) FROM changed GROUP BY flag")

    assert MADE in shown_plan(frame)
    with pytest.raises(IllegalArgumentException, match="LookupError: asked for its tasks"):
        frame.collect()


def test_a_query_sees_one_state(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """That which it was planned on; an old one is aggregated as it was, none as nothing."""
    take_few_rows(monkeypatch)
    lake.create()
    rows = pa.table({"id": range(9_000), "region": ["a"] * 9_000, "amount": [1.0] * 9_000})
    arctic.write(NAME, rows, mode="overwrite", warehouse=lake.warehouse)
    first = str(lake.table().inspect("snapshots")["snapshot_id"][-1].as_py())
    lake.put([(id_, "b", 1.0) for id_ in range(400)])
    query = "SELECT region, count(*), sum(id) FROM {} GROUP BY region"
    lake.view("now")
    lake.view("before", **{"snapshot-id": first})
    frame = lake.spark.sql(query.format("now"))
    assert MADE in shown_plan(frame)
    lake.put([(id_, "c", 1.0) for id_ in range(300)])
    arctic.evolve_schema(NAME, rename={"region": "place"}, warehouse=lake.warehouse)

    then = [("a", 8_600, 8_999 * 4_500 - 79_800), ("b", 400, 79_800)]
    assert sorted(map(tuple, frame.collect())) == then
    arctic.evolve_schema(NAME, rename={"place": "region"}, warehouse=lake.warehouse)
    same(lake.spark, query.format("now"))
    assert same(lake.spark, query.format("before")).collect()[0][1] == 9_000
