"""Joins and group-bys by key without a shuffle: the rows that DuckDB finds.

``HYPOTHESIS_PROFILE=deep`` draws 500 statements, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.scan.set_apart import dirty_files
from tests.spark.lake import Lake, shown_plan, with_settings
from tests.spark.random_joins import statements

pytestmark = pytest.mark.spark

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
STATEMENTS = int(os.environ.get("ARCTIC_HISTORIES", 500 if IS_DEEP else 5))
VECTORS = {"read.deletion-vector.min-rows": "1"}
MERGE = {"read.deletion-vector.min-rows": "1000000000"}
MERGED = "merged_"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64())])
LINES = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("n", pa.int32(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
KEY = {"t": pa.string(), "d": pa.decimal128(20, 2), "b": pa.binary(), "y": pa.date32()}
KEYED = pa.schema([*(pa.field(*each, nullable=False) for each in KEY.items()), ("v", pa.int64())])
TEXTS = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("v", pa.int64())])
FLOATS = pa.schema([pa.field("id", pa.float64(), nullable=False), pa.field("v", pa.int64())])

ALL_IN_GROUPS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.files.maxPartitionBytes": "1000",
}
DRAWN_FROM = {
    "orders_by_id": "select k as id, v from orders",
    "lines_by_id": "select k as id, v from lines",
    "frame": "select fid as id, w as v from f",
    "cached": "select a.id, b.v from a left join b on a.id = b.id",
}


def pair(how: str, kind: str = "") -> str:
    """Return a join of two tables, seen so."""
    return f"select * from {kind}a a {how} join {kind}b b on a.id = b.id"


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Tables that tests share, as views of Spark's and of DuckDB's."""

    lake: Lake
    duck: duckdb.DuckDBPyConnection

    def create(
        self,
        name: str,
        schema: pa.Schema = SCHEMA,
        *,
        key: Sequence[str] = ("id",),
        partition_by: Sequence[str] = (),
        nodes: tuple[int, int] = (4, 4),
    ) -> None:
        """Make a table with nodes for base and for changes: a few rows would be in one."""
        base, change = map(str, nodes)
        arctic.create_table(
            f"db.{name}",
            schema,
            primary_key=key,
            partition_by=partition_by,
            properties={
                "base.file-index.hash-bucket": base,
                "change.file-index.hash-bucket": change,
            },
            warehouse=self.lake.warehouse,
        )

    def write(self, name: str, mode: str, data: pa.Table) -> None:
        """Write rows."""
        arctic.write(f"db.{name}", data, mode=mode, warehouse=self.lake.warehouse)

    def put(self, name: str, ids: range, factor: int, mode: str = "upsert") -> None:
        """Write rows whose values follow from their ids; every seventh has none."""
        values = [None if each % 7 == 0 else each * factor for each in ids]
        data = pa.table({"id": list(ids), "v": values}, schema=SCHEMA)
        self.write(name, mode, data.select(["id"]) if mode == "delete" else data)

    def see(self, name: str, options: Mapping[str, str] = VECTORS, kind: str = "") -> None:
        """Have queries see a table as it is now."""
        view = kind + name
        self.lake.load(f"db.{name}", **options).createOrReplaceTempView(view)
        rows = arctic.read(f"db.{name}", warehouse=self.lake.warehouse).read_all()
        self.duck.register(view, rows)

    def plan(self, query: str, *, exchanges: int) -> str:
        """Return the plan of a query, which has so many shuffles."""
        return self._planned(query, exchanges)[1]

    def check(self, query: str, *, exchanges: int) -> str:
        """Compare rows with DuckDB's, and return the plan, which has so many shuffles."""
        frame, plan = self._planned(query, exchanges)
        rows = frame.collect()
        expected = self.duck.sql(re.sub("left (semi|anti)", r"\1", query)).fetchall()

        assert sorted(map(str, expected)) == sorted(str(tuple(row)) for row in rows)
        assert rows
        return plan

    def compare(self, query: str) -> None:
        """Compare rows with DuckDB's, however Spark joins them."""
        rows = self.lake.spark.sql(query).collect()
        expected = self.duck.sql(re.sub("left (semi|anti)", r"\1", query)).fetchall()

        assert sorted(map(str, expected)) == sorted(str(tuple(row)) for row in rows)

    def _planned(self, query: str, exchanges: int) -> tuple[DataFrame, str]:
        frame = self.lake.spark.sql(query)
        plan = shown_plan(frame)
        assert plan.count("Exchange hashpartitioning") == exchanges, plan
        return frame, plan


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """Tables with changes on base, some of whose keys are in several, and frames of no table."""
    lake = Lake(spark=spark, warehouse=str(tmp_path_factory.mktemp("groups")))
    tables = Tables(lake=lake, duck=duckdb.connect())
    tables.create("a")
    tables.put("a", range(120), 1, "overwrite")
    tables.put("a", range(100, 130), 3)
    # Nodes further down are parts of those further up.
    for name, nodes in (("b", (4, 4)), ("deep", (16, 8)), ("flat", (1, 1))):
        tables.create(name, nodes=nodes)
        tables.put(name, range(60, 200), 2, "overwrite")
        tables.put(name, range(50, 70), 5)
        tables.put(name, range(90, 95), 0, "delete")
    tables.create("c")
    tables.put("c", range(120), 1, "overwrite")
    tables.put("c", range(0, 120, 4), 3)  # of one node
    for name, key, buckets in (("orders", ("k",), 8), ("lines", ("k", "n"), 12)):
        tables.create(name, LINES, key=key, partition_by=[f"bucket({buckets}, k)"])
        lines = [(each, line) for each in range(-20, 100) for line in range(len(key))]
        for mode, factor, chosen in (("overwrite", 1, lines), ("upsert", 3, lines[::5])):
            columns = [*map(list, zip(*chosen, strict=True)), [k * factor for k, _ in chosen]]
            tables.write(name, mode, pa.table(columns, schema=LINES))
    for name in ("a", "b", "c", "deep", "flat", "orders", "lines"):
        tables.see(name)
    for name in ("a", "b", "c"):
        tables.see(name, MERGE, kind=MERGED)
    frame = [(each, each) for each in range(150)]
    for name, first, second in (("f", "fid", "w"), ("g", "gid", "x")):
        lake.frame(frame, f"{first} long, {second} long").createOrReplaceTempView(name)
        tables.duck.register(name, pa.table(list(zip(*frame, strict=True)), names=[first, second]))
    for name, query in DRAWN_FROM.items():
        lake.spark.sql(query).createOrReplaceTempView(name)
        tables.duck.sql(f"create view {name} as {query}")
    with with_settings(lake.spark, ALL_IN_GROUPS):
        lake.spark.catalog.cacheTable("cached")
        lake.spark.table("cached").count()
    yield tables
    lake.spark.catalog.uncacheTable("cached")


@pytest.fixture
def tables(shared: Tables) -> Iterator[Tables]:
    """Tables, none of which is sent to every task or read by one though it is small enough."""
    with with_settings(
        shared.lake.spark,
        ALL_IN_GROUPS,
    ):
        yield shared


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "left semi", "left anti"])
def test_two_keyed_tables_join_without_a_shuffle(tables: Tables, how: str) -> None:
    """Whatever rows without a partner become."""
    assert "ArcticJoin" in tables.check(pair(how), exchanges=0)


def test_a_session_can_do_without_groups(tables: Tables) -> None:
    """The same queries shuffle then."""
    with with_settings(tables.lake.spark, {"spark.arctic.joinWithoutShuffle": "false"}):
        plan = tables.plan(pair("full"), exchanges=2)
        grouped = tables.plan("select id, sum(v) from b group by id", exchanges=1)

    assert "ArcticGroups" not in plan + grouped


def test_plans_that_do_not_adapt(tables: Tables) -> None:
    """Their requirements are made sure of once, for the whole of them."""
    with with_settings(tables.lake.spark, {"spark.sql.adaptive.enabled": "false"}):
        tables.check(pair("full"), exchanges=0)


def test_whoever_reads_the_files(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arctic, where Spark reads none; and both beside each other, with files that have deletes."""
    with with_settings(tables.lake.spark, {"spark.arctic.readWithSpark": "false"}):
        assert "FileScan" not in tables.check(pair("full"), exchanges=0)
    assert "BatchScan" in tables.check(pair("full", MERGED), exchanges=0)
    monkeypatch.setattr(dirty_files, "ROWS_OF_A_FILE", 15)
    monkeypatch.setattr(dirty_files, "ROWS_OF_A_MERGE", 0)
    monkeypatch.setattr(dirty_files, "ROWS_OF_BOTH", 0)
    for name in ("a", "b"):
        tables.see(name, {}, kind="mixed_")
    plan = tables.check(pair("full", "mixed_"), exchanges=0)

    assert "BatchScan" in plan
    assert "FileScan" in plan


def test_a_union_keeps_groups(tables: Tables) -> None:
    """Clean files that Spark reads beside others that Arctic merges."""
    for how in ("full", "left anti"):
        joined = f"merged_c c {how} join merged_b b on b.id = c.id"
        assert "ArcticUnion" in tables.check(f"select * from {joined}", exchanges=0)


def test_a_grouping_by_key_needs_no_shuffle(tables: Tables) -> None:
    """Of the key, of more than the key, and of a join of it; not of other columns."""
    tables.check("select id, sum(v) from b group by id", exchanges=0)
    tables.check(
        "select other, v, count(*) from (select id as other, v from b) b group by v, other",
        exchanges=0,
    )
    tables.check(
        "select a.id, sum(b.v), max(a.v) from a join b on a.id = b.id group by a.id", exchanges=0
    )
    assert "ArcticGroups" not in tables.plan("select v, count(*) from b group by v", exchanges=1)


def test_three_tables_and_one_with_itself(tables: Tables) -> None:
    """Joins of joins, and two scans of one table."""
    three = "select * from a join b on a.id = b.id join c on c.id = a.id"
    tables.check(three, exchanges=0)
    itself = "select x.id, x.v, y.v from a x join (select * from a where v > 20) y on x.id = y.id"
    tables.check(itself, exchanges=0)


def test_sides_that_joins_below_shuffle_are_in_no_groups(tables: Tables) -> None:
    """Though they were planned in the same ones, and are sorted by what is joined: by its first."""
    above = (
        "select * from (select * from a left join f on a.id = f.fid and a.v = f.w) one"
        " left join (select b.id as other, b.v as u, g.* from b left join g on b.id = g.gid) two"
        " on one.id = two.other"
    )
    inner = (
        "select * from b join (select a.id, a.v, w from a join f on a.id = f.fid) f on f.id = b.id"
    )
    for adaptive in ("false", "true"):
        with with_settings(tables.lake.spark, {"spark.sql.adaptive.enabled": adaptive}):
            tables.check(above, exchanges=5)
    with with_settings(tables.lake.spark, {"spark.sql.adaptive.enabled": "false"}):
        tables.check(inner, exchanges=3)


def test_other_joins_shuffle_both_sides(tables: Tables) -> None:
    """With a frame that is no table, by other columns, and by columns of other types."""
    narrow = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("v", pa.int64())])
    tables.create("narrow", narrow)
    tables.write("narrow", "upsert", pa.table({"id": [-5, 3], "v": [1, 2]}, schema=narrow))
    tables.see("narrow")
    for query in (
        "a join f on a.id = f.fid",
        "a join b on a.v = b.v",
        "a join b on a.v = b.id",
        "a join narrow on a.id = narrow.id",
    ):
        assert "ArcticGroups" not in tables.plan(f"select * from {query}", exchanges=2)
    shuffled = "(select * from a left join f on a.id = f.fid) one"
    others = "(select * from b left join g on b.id = g.gid) two"
    tables.check(f"select * from {shuffled} join {others} on one.id = two.id", exchanges=4)


def test_trees_of_other_depths_meet_at_the_smaller_one(tables: Tables) -> None:
    """Nodes further down are parts of those further up; a root is a single group."""
    plan = tables.check("select * from a full join deep on a.id = deep.id", exchanges=0)

    assert "ArcticGroups 4 by node(long)" in plan
    # Fewer groups than cores are not worth it: one is read by one task.
    flat = tables.plan("select * from a full join flat on a.id = flat.id", exchanges=2)
    assert "ArcticGroups" not in flat


def test_rows_stay_alike_after_optimizing(tables: Tables) -> None:
    """Of a minor, which leaves position deletes, and of a full."""
    tables.create("o")
    tables.put("o", range(60, 200), 2, "overwrite")
    tables.put("o", range(50, 70), 5)
    for kind in ("minor", "full"):
        arctic.optimize("db.o", type=kind, warehouse=tables.lake.warehouse)
        tables.put("o", range(10), 9)
        tables.see("o")
        tables.check("select * from a full join o on a.id = o.id", exchanges=0)


def test_filters_and_columns(tables: Tables) -> None:
    """Of parts of the rows, by constants, by what a subquery finds, and by chance."""
    pair = "a join b on a.id = b.id"
    tables.check(f"select a.id, b.v from {pair} where a.v > 30 and b.v % 3 <> 1", exchanges=0)
    tables.check(
        f"select a.id, b.v from {pair} where a.v > (select min(v) + 40 from b) "
        "and b.id in (select id from a group by id having sum(v) < 400)",
        exchanges=0,
    )
    tables.check(f"select a.id from {pair} where random() >= 0", exchanges=0)


def test_keys_of_several_columns_and_types(tables: Tables) -> None:
    """In the order of the key, joined in another one, all of them or it is shuffled."""
    for name, numbers in (("one", range(60)), ("two", range(30, 90))):
        tables.create(name, KEYED, key=tuple(KEY))
        rows = [
            (
                f"kéy-{each % 7}",
                Decimal(each) / 4 - 7,
                str(each).encode() * 3,
                date.fromordinal(700_000 + each),
                each,
            )
            for each in numbers
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        tables.write(name, "upsert", pa.table(columns, schema=KEYED))
        tables.see(name)
    on = " and ".join(f"one.{name} = two.{name}" for name in "ydtb")
    joined = f"one join two on {on} group by one.y, one.b, one.d, one.t"
    plan = tables.check(f"select one.y, one.d, one.t, sum(two.v) from {joined}", exchanges=0)
    assert "by node(string, decimal(20, 2), binary, date) of [t, d, b, y]" in plan
    less = on.replace("one.b = two.b", "one.v = two.v")
    plan = tables.plan(f"select one.v from one join two on {less}", exchanges=2)
    assert "ArcticGroups" not in plan


def test_keys_of_floating_numbers_are_shuffled(tables: Tables) -> None:
    """Zero is equal to its negative, and is in another node."""
    for name, zero in (("plus", 0.0), ("minus", -0.0)):
        tables.create(name, FLOATS)
        rows = pa.table({"id": [zero, 1.0, 2.5], "v": [1, 2, 3]}, schema=FLOATS)
        tables.write(name, "upsert", rows)
        tables.see(name)

    frame = tables.lake.spark.sql("select * from plus join minus on plus.id = minus.id")
    assert shown_plan(frame).count("Exchange hashpartitioning") == 2
    assert frame.count() == 3


def test_texts_that_a_collation_holds_for_equal_are_shuffled(tables: Tables) -> None:
    """They are in other nodes, as their bytes are."""
    tables.create("texts", TEXTS)
    rows = [[f"{letter}{each}" for letter in "kK" for each in range(30)], list(range(60))]
    tables.write("texts", "upsert", pa.table(rows, schema=TEXTS))
    reader = tables.lake.spark.read.schema("id string collate utf8_lcase, v long").format("arctic")
    texts = reader.option("warehouse", tables.lake.warehouse).load("db.texts")

    frame = texts.groupBy("id").count()
    assert shown_plan(frame).count("Exchange hashpartitioning") == 1
    assert [row["count"] for row in frame.collect()] == [2] * 30


def test_tables_in_buckets_join_by_them(tables: Tables) -> None:
    """Of a part of the key, as orders and their lines; by as many as divide both numbers."""
    plan = tables.check(
        "select o.k, o.v, sum(l.v) from orders o join lines l on o.k = l.k group by o.k, o.v",
        exchanges=0,
    )

    assert "ArcticGroups 4 by bucket(long)" in plan
    tables.check("select k, sum(v) from lines group by k", exchanges=0)
    assert "ArcticGroups" not in tables.plan("select n, sum(v) from lines group by n", exchanges=1)


@pytest.mark.parametrize("kind", ["", MERGED])
def test_tasks_are_sent_classes_of_spark_alone(tables: Tables, kind: str) -> None:
    """Executors have none of ours, and tasks are sent parts of the plan that they are of."""
    spark = tables.lake.spark
    grouped = f"select a.id, collect_list(a.v) x from {kind}a a {{}} group by a.id"
    joined = grouped.format(f"join {kind}b b on a.id = b.id")
    # A join of Spark's remembers the partitioning of its side, once it is asked.
    sent = grouped.format("join f on a.id = f.fid").replace("select", "select /*+ broadcast(f) */")
    query = f"select * from ({joined}) one join ({sent}) two on one.id = two.id"
    frame = spark.sql(query)
    written: Any = spark._jvm.java.io.ByteArrayOutputStream()  # type: ignore[union-attr]
    stream = spark._jvm.java.io.ObjectOutputStream(written)  # type: ignore[union-attr]
    stream.writeObject(frame._jdf.queryExecution().toRdd())
    stream.flush()

    ours = re.findall(rb"arctic[./]spark[./](?:Grouped|KeyGroups)\w*", written.toByteArray())
    assert ours == []
    assert "ArcticGroups" in shown_plan(frame)


def test_a_small_table_is_broadcast(tables: Tables) -> None:
    """No scan is asked for groups then."""
    with with_settings(tables.lake.spark, {"spark.sql.autoBroadcastJoinThreshold": "10485760"}):
        plan = tables.plan(pair("inner"), exchanges=0)

    assert "BroadcastHashJoin" in plan
    assert "ArcticGroups" not in plan


@settings(
    max_examples=STATEMENTS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    query=statements(["a", "b", "c", "deep", "flat", "merged_a", "merged_b", *DRAWN_FROM]),
    adaptive=st.sampled_from(["true", "false"]),
    task_bytes=st.sampled_from(["1000", "134217728"]),
)
def test_statements_that_are_drawn(
    tables: Tables, query: str, adaptive: str, task_bytes: str
) -> None:
    """Of joins, groups, windows and sets, within one another."""
    drawn = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.files.maxPartitionBytes": task_bytes,
    }
    with with_settings(tables.lake.spark, drawn):
        tables.compare(query)


def test_streams_that_are_joined_remember_their_rows(tables: Tables, tmp_path: Path) -> None:
    """Whatever tables each of them was joined with before."""
    spark = tables.lake.spark
    sides = []
    for name, batches in (("a", [[61, 62], [65]]), ("b", [[65], [61, 64]])):
        folder = tmp_path / name
        folder.mkdir()
        for number, ids in enumerate(batches):
            path = folder / f"{number}.parquet"
            pq.write_table(pa.table({"s": ids}), path)
            os.utime(path, (number, number))  # Spark takes files by their age
        arrived = spark.readStream.schema("s long").option("maxFilesPerTrigger", "1")
        table = spark.table(name).selectExpr("id", f"v as {name}")
        sides.append(arrived.parquet(str(folder)).join(table, on=[F.col("s") == F.col("id")]))
    one, two = (side.drop("s") for side in sides)
    writer = one.join(two, on="id").writeStream.format("memory").queryName("met")
    query = writer.option("checkpointLocation", str(tmp_path / "at")).start()
    query.processAllAvailable()
    query.stop()

    assert sorted(tuple(row) for row in spark.table("met").collect()) == [
        (61, 61, 305),
        (65, 65, 325),
    ]
