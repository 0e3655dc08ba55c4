"""Queries drawn at random, with aggregates made by tasks and without: the same rows, or both fail.

``HYPOTHESIS_PROFILE=deep`` asks hundreds, and ``--hypothesis-show-statistics`` tells how many of
them tasks made aggregates for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic
from tests.spark.lake import shown_plan, with_settings
from tests.spark.test_partial_aggregates import CONF, MADE, take_few_rows

pytestmark = pytest.mark.spark

ROWS = 8_000
TYPED = f"""
SELECT id, CAST(id % 7 AS INT) n, CAST(id * 1000003 % 1000 - 500 AS BIGINT) wide,
  IF(id % 997 = 0, 4611686018427387904 + id, id % 3) huge,
  IF(id % 11 = 0, NULL, concat('r', id % 5)) region,
  element_at(array('', 'é', 'a', 'Ab', 'a%', NULL), CAST(id % 6 + 1 AS INT)) text,
  IF(id % 17 = 0, NULL, id % 3 = 0) flag, date_add(DATE'1969-12-20', CAST(id % 19 AS INT)) day,
  timestamp_micros(id % 4 * 3600000001 - 7200000000) at,
  CAST(timestamp_micros(id % 5 * 1800000000) AS TIMESTAMP_NTZ) local,
  CAST(IF(id % 13 = 0, NULL, id % 1000 / 8) AS DECIMAL(7, 2)) short,
  CAST(IF(id % 13 = 0, NULL, id % 977 / 8 - 50) AS DECIMAL(14, 3)) price,
  CAST(IF(id % 499 = 0, 9999999999999999999999999999999999.99BD, id % 5) AS DECIMAL(36, 2)) large,
  CAST(NULL AS INT) nothing, CAST(concat('b', id % 2) AS BINARY) raw,
  element_at(array(DOUBLE('NaN'), -0.0D, 0.0D, 1.5D, NULL, -2.25D), CAST(id % 6 + 1 AS INT)) ratio,
  CAST(id % 4 AS FLOAT) narrow, named_struct('a', CAST(id % 3 AS INT)) deep
FROM range({ROWS})
"""
SPLIT = """
SELECT id, day_of, n, region, price, flag FROM (
  SELECT id, date_add(DATE'2024-01-01', CAST(id % 3 AS INT)) day_of, CAST(id % 9 AS INT) n,
    concat('r', id % 4) region, CAST(id % 50 AS DECIMAL(14, 3)) price, id % 2 = 0 flag
  FROM range(6000))
"""
WIDE = ("changed", "settled", "keyless", "named", "empty", "evolved", "before", "held")
SETTINGS = {
    CONF: ("true", "exact"),
    "spark.sql.ansi.enabled": ("true", "false"),
    "spark.sql.adaptive.enabled": ("true", "false"),
    "spark.sql.autoBroadcastJoinThreshold": ("-1", "10485760"),
}

KEYS = (
    *("n", "region", "text", "flag", "day", "at", "local", "short", "price", "nothing", "raw"),
    *("deep.a", "ratio", "n % 2", "upper(region)", "region COLLATE UTF8_LCASE"),
)
SPLIT_KEYS = ("day_of", "n", "region", "flag")
VALUES = (
    *("count(*)", "count(1)", "count(region)", "count(ratio)", "count(nothing)", "count(deep)"),
    *("sum(n)", "sum(wide)", "sum(huge)", "try_sum(huge)", "sum(short)", "sum(price)"),
    *("sum(large)", "try_sum(large)", "sum(nothing)", "sum(ratio)", "sum(narrow)", "sum(n + 1)"),
    *("avg(n)", "avg(wide)", "avg(short)", "avg(price)", "avg(nothing)", "avg(ratio)"),
    *("min(region)", "max(text)", "min(day)", "max(at)", "min(local)", "max(short)", "min(price)"),
    *("max(large)", "min(wide)", "max(ratio)", "min(narrow)", "max(flag)", "min(raw)", "max(deep)"),
    *("count(DISTINCT region)", "sum(DISTINCT n)", "count(*) FILTER (WHERE n > 2)"),
    *("sum(price) FILTER (WHERE flag)", "stddev(n)", "sum(n) * 2 + count(*)", "max(n) - min(n)"),
)
SPLIT_VALUES = ("count(*)", "sum(n)", "sum(price)", "avg(price)", "min(day_of)", "max(region)")
TESTS = (
    *("n > 2", "n <= 3", "n = 5", "n <> 5", "n IN (1, 3, 9)", "n NOT IN (0, 6)", "n <=> 4"),
    *("n = 3000000000", "wide < -100", "wide BETWEEN -10 AND 400", "huge > 4611686018427387904"),
    *("region = 'r1'", "region > 'r2'", "region IS NULL", "region IS NOT NULL", "region IN ('r0')"),
    *("region LIKE 'r%'", "region LIKE '%2'", "region <=> NULL", "NOT region <=> 'r3'"),
    *("text = ''", "text >= 'a'", "text < 'é'", "text LIKE 'a\\%%'", "text <> 'Ab'"),
    *("flag", "NOT flag", "flag = false", "flag IS NULL", "flag < true", "flag <=> true"),
    *("day < DATE'1970-01-01'", "day = DATE'1969-12-25'", "at >= TIMESTAMP'1970-01-01 00:00:00'"),
    *("at = timestamp_micros(0)", "local > TIMESTAMP_NTZ'1970-01-01 00:30:00'", "year(day) = 1969"),
    *("short > 100", "short = 12.5", "short < 12.505", "price >= -49.875", "price IN (0.125, 1)"),
    *("price <> 3", "large > 3", "large < 99999999999999999999999999999999999999", "raw = X'6230'"),
    *("raw > X'62'", "ratio > 0", "ratio = 0.0D", "ratio IS NULL", "ratio IS NOT NULL"),
    *("isnan(ratio)", "narrow < 2", "nothing IS NULL", "nothing = 1", "deep.a = 1", "n = wide"),
    *("n + 1 > 3", "n > (SELECT min(n) FROM settled)", "id < 4000", "id >= 7990", "id < 0"),
)
SPLIT_TESTS = (
    *("day_of = DATE'2024-01-02'", "day_of > DATE'2024-01-01'", "day_of IS NULL", "n > 4"),
    *("region = 'r1'", "flag", "price < 20.5"),
)


SHAPES = (
    *["{0}"] * 8,
    "SELECT count(*), min(CAST(first AS STRING)) FROM ({0})",
    "WITH a AS ({0}) SELECT x.first, y.first FROM a x JOIN a y ON x.first <=> y.first",
    "SELECT CAST(first AS STRING) FROM ({0}) UNION ALL SELECT CAST(first AS STRING) FROM ({1})",
    "SELECT CAST(a.first AS STRING) FROM ({0}) a "
    "LEFT JOIN ({1}) b ON CAST(a.first AS STRING) = CAST(b.first AS STRING)",
    "SELECT count(*) FROM settled s WHERE EXISTS "
    "(SELECT 1 FROM ({0}) x WHERE CAST(x.first AS STRING) = s.region)",
    "SELECT n, (SELECT max(CAST(first AS STRING)) FROM ({0})) FROM settled WHERE id < 3",
    "SELECT count(*) FROM changed WHERE CAST(n AS STRING) IN "
    "(SELECT CAST(first AS STRING) FROM ({0}))",
    "SELECT CAST(first AS STRING) s FROM ({0}) ORDER BY s LIMIT 3",
    "SELECT CAST(first AS STRING), dense_rank() OVER (ORDER BY CAST(first AS STRING)) FROM ({0})",
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Views of tables with changes and without, with a key and without, in partitions, empty."""
    with pytest.MonkeyPatch.context() as patch:
        take_few_rows(patch)
        folder = str(tmp_path_factory.mktemp("drawn"))
        # One of them is read by its name in the catalog.
        patch.setenv("ARCTIC_WAREHOUSE", folder)
        make(spark, folder)
        yield
        spark.catalog.uncacheTable("held")


def make(spark: SparkSession, folder: str) -> None:
    """Write the tables, and name them."""
    rows = spark.sql(TYPED).toArrow()
    split = spark.sql(SPLIT).toArrow()
    for name in (*WIDE, "parted"):
        given = split if name == "parted" else rows
        required = pa.schema([given.schema.field(0).with_nullable(False), *list(given.schema)[1:]])
        key = [] if name == "keyless" else ["id", "day_of"] if name == "parted" else ["id"]
        if name == "parted":
            required = required.set(1, required.field(1).with_nullable(False))
        parts = ["day_of"] if name == "parted" else []
        arctic.create_table(
            f"db.{name}", required, primary_key=key, partition_by=parts, warehouse=folder
        )
        table = given.cast(required)
        if name != "empty":
            arctic.write(f"db.{name}", table, mode="overwrite", warehouse=folder)
        if name == "evolved":
            evolve(table, folder)
        if name in ("changed", "named", "before"):
            moved = table.slice(0, 900)
            arctic.write(f"db.{name}", moved, mode="upsert", warehouse=folder)
            gone = table.select(["id"]).slice(2_000, 300)
            arctic.write(f"db.{name}", gone, mode="delete", warehouse=folder)
        if name == "parted":
            # One of its partitions has deletes.
            newest = table.filter(pc.equal(table["day_of"], table["day_of"][2]))
            arctic.write(f"db.{name}", newest.slice(0, 500), mode="upsert", warehouse=folder)
        if name in ("named", "before"):
            # What the name means is looked up anew by each query; one is read as it once was.
            version = " VERSION AS OF 1" if name == "before" else ""
            seen = f"SELECT * FROM arctic.db.{name}{version}"
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {seen}")
        else:
            reader = spark.read.format("arctic").option("warehouse", folder)
            frame = reader.load(f"db.{name}")
            (frame.cache() if name == "held" else frame).createOrReplaceTempView(name)


def evolve(rows: pa.Table, folder: str) -> None:
    """Have a table whose files know columns by other names and types, or do not know them."""
    changes: list[dict[str, Any]] = [
        {"rename": {"region": "moved"}, "drop": ["flag", "nothing"]},
        {"rename": {"text": "region", "moved": "text"}, "add": {"flag": pa.bool_()}},
        {"widen": {"n": pa.int64(), "price": pa.decimal128(20, 3), "narrow": pa.float64()}},
        {"add": {"nothing": pa.int32()}},
    ]
    for change in changes:
        arctic.evolve_schema("db.evolved", **change, warehouse=folder)
    now = arctic.open_table("db.evolved", warehouse=folder).schema
    newest = rows.slice(0, 1_500).select(now.names).cast(now)
    arctic.write("db.evolved", newest, mode="upsert", warehouse=folder)


def conditions(tests: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw what a row must be, of tests joined by AND, OR and NOT."""

    def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        both = st.tuples(parts, st.sampled_from(["AND", "OR"]), parts).map(" ".join)
        return both.map("({})".format) | parts.map("NOT ({})".format)

    return st.recursive(st.sampled_from(tests), joined, max_leaves=4)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query that has aggregates of one table, or of two, somewhere in it."""
    shape = draw(st.sampled_from(SHAPES))
    return shape.format(draw(aggregates()), draw(aggregates()))


@st.composite
def aggregates(draw: st.DrawFn) -> str:
    """Draw a query for aggregates of one table, whose first column is ``first``."""
    table = draw(st.sampled_from((*WIDE, "parted")))
    is_split = table == "parted"
    keys = draw(
        st.lists(st.sampled_from(SPLIT_KEYS if is_split else KEYS), max_size=3, unique=True)
    )
    values = st.sampled_from(SPLIT_VALUES if is_split else VALUES)
    asked = draw(st.lists(values, min_size=0 if keys else 1, max_size=4, unique=True))
    where = draw(st.none() | conditions(SPLIT_TESTS if is_split else TESTS))
    filtered = f" WHERE {where}" if where else ""
    if keys and not asked:
        return f"SELECT DISTINCT {', '.join(named(keys))} FROM {table}{filtered}"
    shape = draw(st.sampled_from(["{}", "{}", "{}", "ROLLUP({})", "CUBE({})"])) if keys else ""
    by = f" GROUP BY {shape.format(', '.join(keys))}" if keys else ""
    having = draw(st.sampled_from(["", "", " HAVING count(*) > 100", " HAVING max(n) > 5"]))
    return f"SELECT {', '.join(named([*keys, *asked]))} FROM {table}{filtered}{by}{having}"


def named(columns: list[str]) -> list[str]:
    """Name the first column, for what stands around the query."""
    return [f"{columns[0]} AS first", *columns[1:]]


def answer(spark: SparkSession, query: str) -> tuple[list[str], bool]:
    """Return the rows, or the condition of an error, and whether tasks made aggregates."""
    frame = spark.sql(query)
    made = MADE in shown_plan(frame)
    try:
        return sorted(map(str, frame.collect())), made
    except PySparkException as error:
        return [str(error.getCondition())], made


@settings(max_examples=settings().max_examples // 8)
@given(
    query=queries(),
    given_settings=st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in SETTINGS.items()}
    ),
)
def test_drawn_queries_are_as_without(
    spark: SparkSession, tables: None, query: str, given_settings: dict[str, str]
) -> None:
    """Sums of floating-point numbers are exact here in any order."""
    with with_settings(spark, {**given_settings, CONF: "false"}):
        expected, never = answer(spark, query)
    with with_settings(spark, given_settings):
        found, made = answer(spark, query)

    fails = bool(expected) and expected[0].isupper()
    event(f"made by tasks: {made}, filtered: {' WHERE ' in query}, fails: {fails}")
    assert not never
    assert found == expected
