"""Joins and group-bys by key without a shuffle: the same rows as with one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, collect_list

import arctic
from arctic.scan.set_apart import dirty_files
from tests.spark.lake import Lake, shown_plan

pytestmark = pytest.mark.spark

VECTORS = {"read.deletion-vector.min-rows": "1"}
MERGE = {"read.deletion-vector.min-rows": "1000000000"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64())])
NODES = {"base.file-index.hash-bucket": "4", "change.file-index.hash-bucket": "4"}
"""Stated, for a few rows would be in one."""
WIDE = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("n", pa.int32(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)


@contextmanager
def settings(lake: Lake, **values: str) -> Iterator[None]:
    """Change settings of the session, whose dots are written as two underscores."""
    names = {name.replace("__", "."): value for name, value in values.items()}
    before = {name: lake.spark.conf.get(name, None) for name in names}
    for name, value in names.items():
        lake.spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                lake.spark.conf.unset(name)
            else:
                lake.spark.conf.set(name, known)


@pytest.fixture(autouse=True)
def no_broadcast(lake: Lake) -> Iterator[None]:
    """Tables of tests are small enough to be sent to every task."""
    wanted = {"spark__arctic__joinWithoutShuffle": "true"}
    with settings(lake, spark__sql__autoBroadcastJoinThreshold="-1", **wanted):
        yield


def create(
    lake: Lake,
    name: str,
    schema: pa.Schema = SCHEMA,
    *,
    key: Sequence[str] = ("id",),
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Make a table."""
    arctic.create_table(
        name,
        schema,
        primary_key=key,
        partition_by=partition_by,
        properties={**NODES, **(properties or {})},
        warehouse=lake.warehouse,
    )


def put(lake: Lake, name: str, ids: range, factor: int, mode: str = "upsert") -> None:
    """Write rows whose values follow from their ids; every seventh has none."""
    values = [None if each % 7 == 0 else each * factor for each in ids]
    data = pa.table({"id": list(ids), "v": values}, schema=SCHEMA)
    if mode == "delete":
        data = data.select(["id"])
    arctic.write(name, data, mode=mode, warehouse=lake.warehouse)


def pair(lake: Lake, **properties: str) -> None:
    """Make two tables with changes on base, some of whose keys are in both."""
    create(lake, "db.a")
    create(lake, "db.b", properties=properties)
    put(lake, "db.a", range(120), 1, "overwrite")
    put(lake, "db.b", range(60, 200), 2, "overwrite")
    put(lake, "db.a", range(100, 130), 3)
    put(lake, "db.b", range(50, 70), 5)
    put(lake, "db.b", range(90, 95), 0, "delete")


def assert_alike(
    lake: Lake, ask: Callable[[], DataFrame], *, exchanges: int, otherwise: int | None
) -> None:
    """Compare rows and shuffles with those of the same query that shuffles."""
    found = []
    for wanted, expected in (("true", exchanges), ("false", otherwise)):
        with settings(lake, spark__arctic__joinWithoutShuffle=wanted):
            frame = ask()
            plan = shown_plan(frame)
            assert expected in (None, plan.count("Exchange hashpartitioning")), plan
            found.append(sorted(map(str, frame.collect())))
    assert found[0] == found[1]
    assert found[0]


def joined(lake: Lake, how: str = "inner", **options: str) -> DataFrame:
    """Join the pair on its keys."""
    a, b = lake.load("db.a", **options).alias("a"), lake.load("db.b", **options).alias("b")
    return a.join(b, a["id"] == b["id"], how)


@pytest.mark.parametrize(
    ("adaptive", "hows"),
    [
        ("true", ("inner", "left", "right", "full", "left_semi", "left_anti")),
        ("false", ("inner", "full")),
    ],
)
def test_two_keyed_tables_join_without_a_shuffle(
    lake: Lake, hows: Sequence[str], adaptive: str
) -> None:
    """Whatever rows without a partner become, with plans that adapt and without."""
    pair(lake)
    with settings(lake, spark__sql__adaptive__enabled=adaptive):
        for how in hows:
            assert_alike(lake, partial(joined, lake, how, **VECTORS), exchanges=0, otherwise=2)


@pytest.mark.parametrize("options", [VECTORS, MERGE, {}])
def test_whoever_reads_the_files(
    lake: Lake, options: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark, Arctic, or both beside each other."""
    if not options:
        monkeypatch.setattr(dirty_files, "ROWS_OF_A_FILE", 15)
        monkeypatch.setattr(dirty_files, "ROWS_OF_A_MERGE", 0)
        monkeypatch.setattr(dirty_files, "ROWS_OF_BOTH", 0)
    pair(lake)
    frame = joined(lake, **options)
    plan = shown_plan(frame)

    assert ("BatchScan" in plan) == (options != VECTORS)
    assert ("FileScan" in plan) == (options != MERGE or "ArcticUnion" in plan)
    assert_alike(lake, lambda: joined(lake, **options), exchanges=0, otherwise=2)
    with settings(lake, spark__arctic__readWithSpark="false"):
        assert "FileScan" not in shown_plan(joined(lake))
        assert_alike(lake, lambda: joined(lake), exchanges=0, otherwise=2)


def test_a_union_keeps_groups(lake: Lake) -> None:
    """Clean files that Spark reads beside others that Arctic merges."""
    pair(lake)
    create(lake, "db.c")
    put(lake, "db.c", range(120), 1, "overwrite")
    put(lake, "db.c", range(0, 120, 4), 3)  # of one node

    def half_clean(how: str) -> DataFrame:
        b, c = lake.load("db.b", **MERGE).alias("b"), lake.load("db.c", **MERGE).alias("c")
        return c.join(b, b["id"] == c["id"], how)

    assert "ArcticUnion" in shown_plan(half_clean("inner"))
    for how in ("inner", "full", "left_anti"):
        assert_alike(lake, partial(half_clean, how), exchanges=0, otherwise=2)


def test_a_grouping_by_key_needs_no_shuffle(lake: Lake) -> None:
    """Of the key, of more than the key, and of a join of it; not of other columns."""
    pair(lake)
    by = lake.load("db.b", **VECTORS)

    assert_alike(lake, lambda: by.groupBy("id").sum("v"), exchanges=0, otherwise=1)
    assert_alike(lake, lambda: by.groupBy("v", "id").count(), exchanges=0, otherwise=1)
    assert_alike(
        lake,
        lambda: by.selectExpr("id as other", "v").groupBy("other").max("v"),
        exchanges=0,
        otherwise=1,
    )
    assert_alike(lake, lambda: by.groupBy("v").count(), exchanges=1, otherwise=1)
    assert_alike(
        lake,
        lambda: joined(lake, **VECTORS).groupBy("a.id").agg({"b.v": "sum"}),
        exchanges=0,
        otherwise=2,
    )


def test_three_tables_and_one_with_itself(lake: Lake) -> None:
    """Joins of joins, and two scans of one table."""
    pair(lake)
    create(lake, "db.c")
    put(lake, "db.c", range(40, 110), 7)

    def three() -> DataFrame:
        c = lake.load("db.c", **VECTORS).alias("c")
        return joined(lake, **VECTORS).join(c, c["id"] == col("a.id"))

    def itself() -> DataFrame:
        a = lake.load("db.a", **VECTORS)
        return a.alias("x").join(a.where("v > 20").alias("y"), "id").select("id", "x.v", "y.v")

    assert_alike(lake, three, exchanges=0, otherwise=3)
    assert_alike(lake, itself, exchanges=0, otherwise=2)


def test_sides_that_joins_below_shuffle_are_in_no_groups(lake: Lake) -> None:
    """Though they were planned in the same ones, and are sorted by what is joined: by its first."""
    pair(lake)
    f = lake.spark.createDataFrame([(each, each) for each in range(150)], "fid long, w long")
    g = lake.spark.createDataFrame([(each, each) for each in range(150)], "gid long, x long")

    def above() -> DataFrame:
        a = lake.load("db.a", **VECTORS)
        b = lake.load("db.b", **VECTORS).selectExpr("id as other", "v as u")
        left = a.join(f, (a["id"] == f["fid"]) & (a["v"] == f["w"]), "left")
        right = b.join(g, b["other"] == g["gid"], "left")
        return left.join(right, left["id"] == right["other"])

    def inner() -> DataFrame:
        a = lake.load("db.a", **VECTORS)
        b = lake.load("db.b", **VECTORS).selectExpr("id as other", "v as u")
        return b.join(a.join(f, a["id"] == f["fid"]), a["id"] == b["other"])

    for adaptive in ("false", "true"):
        with settings(lake, spark__sql__adaptive__enabled=adaptive):
            assert_alike(lake, above, exchanges=5, otherwise=5)
            assert_alike(lake, inner, exchanges=3, otherwise=3)


def test_other_joins_shuffle_both_sides(lake: Lake) -> None:
    """With a frame that is no table, by other columns, and by columns of other types."""
    pair(lake)
    frame = lake.spark.createDataFrame([(each, each) for each in range(150)], "id long, w long")
    narrow = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("v", pa.int64())])
    create(lake, "db.n", narrow)
    rows = pa.table({"id": [-5, 3, 70], "v": [1, 2, 3]}, schema=narrow)
    arctic.write("db.n", rows, mode="upsert", warehouse=lake.warehouse)
    a, b = lake.load("db.a", **VECTORS), lake.load("db.b", **VECTORS)

    assert_alike(lake, lambda: a.join(frame, "id"), exchanges=2, otherwise=2)
    assert_alike(lake, lambda: a.join(b, a["v"] == b["v"]), exchanges=2, otherwise=2)
    assert_alike(lake, lambda: a.join(b, a["v"] == b["id"]), exchanges=2, otherwise=2)

    def of_shuffled() -> DataFrame:
        left = a.join(frame, "id", "left")
        right = b.join(frame.withColumnRenamed("w", "x"), "id", "left")
        return left.join(right, "id")

    assert_alike(lake, of_shuffled, exchanges=4, otherwise=4)
    n = lake.load("db.n")
    assert_alike(lake, lambda: a.join(n, a["id"] == n["id"]), exchanges=2, otherwise=2)


def test_trees_of_other_depths_meet_at_the_smaller_one(lake: Lake) -> None:
    """Nodes further down are parts of those further up."""
    deep = {"base.file-index.hash-bucket": "16", "change.file-index.hash-bucket": "8"}
    pair(lake, **deep)

    assert "ArcticGroups 4 by node(long)" in shown_plan(joined(lake, **VECTORS))
    assert_alike(lake, lambda: joined(lake, "full", **VECTORS), exchanges=0, otherwise=2)


def test_rows_stay_alike_after_optimizing(lake: Lake) -> None:
    """Of a minor, which leaves position deletes, and of a full."""
    pair(lake)
    for kind in ("minor", "full"):
        arctic.optimize("db.b", type=kind, warehouse=lake.warehouse)
        put(lake, "db.b", range(10), 9)
        assert_alike(lake, lambda: joined(lake, "full", **VECTORS), exchanges=0, otherwise=2)


def test_filters_and_columns(lake: Lake) -> None:
    """Of parts of the rows, by constants and by what a subquery finds."""
    pair(lake)

    def filtered() -> DataFrame:
        return joined(lake, **VECTORS).where("a.v > 30 and b.v % 3 <> 1").select("a.id", "b.v")

    def asked() -> DataFrame:
        lake.load("db.a", **VECTORS).createOrReplaceTempView("a")
        lake.load("db.b", **VECTORS).createOrReplaceTempView("b")
        return lake.spark.sql(
            "select a.id, b.v from a join b on a.id = b.id "
            "where a.v > (select min(v) + 40 from b) "
            "and b.id in (select id from a group by id having sum(v) < 400)"
        )

    assert_alike(lake, filtered, exchanges=0, otherwise=2)
    assert_alike(lake, asked, exchanges=0, otherwise=None)
    assert_alike(
        lake,
        lambda: joined(lake, **VECTORS).where("rand(3) >= 0").select("a.id"),
        exchanges=0,
        otherwise=2,
    )


KEYS: dict[str, tuple[pa.DataType, Callable[[int], object]]] = {
    "texts": (pa.string(), lambda each: f"kéy-{each}"),
    "decimals": (pa.decimal128(20, 2), lambda each: Decimal(each) / 4 - 7),
    "dates": (pa.date32(), lambda each: date.fromordinal(700_000 + each)),
    "bytes": (pa.binary(), lambda each: str(each).encode() * 3),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_two_columns(lake: Lake, kind: str) -> None:
    """In the order of the key, joined in another one."""
    type_, value = KEYS[kind]
    schema = pa.schema(
        [
            pa.field("p", type_, nullable=False),
            pa.field("q", pa.int32(), nullable=False),
            pa.field("v", pa.int64()),
        ]
    )
    for name, numbers in (("db.a", range(60)), ("db.b", range(30, 90))):
        create(lake, name, schema, key=("p", "q"))
        columns = [[value(each) for each in numbers], list(numbers), list(numbers)]
        arctic.write(
            name, pa.table(columns, schema=schema), mode="upsert", warehouse=lake.warehouse
        )

    def both() -> DataFrame:
        a, b = lake.load("db.a").alias("a"), lake.load("db.b").alias("b")
        return a.join(b, (a["q"] == b["q"]) & (a["p"] == b["p"]))

    def crossed() -> DataFrame:
        a, b = lake.load("db.a").alias("a"), lake.load("db.b").alias("b")
        return a.join(b, (a["q"] == b["v"]) & (a["p"] == b["p"]))

    assert_alike(lake, both, exchanges=0, otherwise=2)
    assert_alike(
        lake, lambda: lake.load("db.a").groupBy("q", "p").count(), exchanges=0, otherwise=1
    )
    # Not the whole key of one side, though a column of its type.
    if kind == "dates":
        assert_alike(
            lake,
            lambda: lake.load("db.a").join(lake.load("db.b"), "p").select("p"),
            exchanges=2,
            otherwise=2,
        )


def test_keys_of_floating_numbers_are_shuffled(lake: Lake) -> None:
    """Zero is equal to its negative, and is in another node."""
    schema = pa.schema([pa.field("id", pa.float64(), nullable=False), pa.field("v", pa.int64())])
    for name, zero in (("db.a", 0.0), ("db.b", -0.0)):
        create(lake, name, schema)
        rows = pa.table({"id": [zero, 1.0, 2.5], "v": [1, 2, 3]}, schema=schema)
        arctic.write(name, rows, mode="upsert", warehouse=lake.warehouse)

    assert_alike(lake, lambda: joined(lake), exchanges=2, otherwise=2)
    assert joined(lake).count() == 3


def buckets(lake: Lake, name: str, key: Sequence[str], count: int) -> None:
    """Make a table in buckets of a column, with changes, and with a part of its rows deleted."""
    create(lake, name, WIDE, key=key, partition_by=[f"bucket({count}, k)"])
    numbers = range(-20, 100)
    lines = [(each, line) for each in numbers for line in range(2 if len(key) > 1 else 1)]
    for factor, chosen in ((1, lines), (3, lines[::5])):
        columns = [
            [each for each, _ in chosen],
            [line for _, line in chosen],
            [each * factor for each, _ in chosen],
        ]
        arctic.write(
            name,
            pa.table(columns, schema=WIDE),
            mode="overwrite" if factor == 1 else "upsert",
            warehouse=lake.warehouse,
        )


def test_tables_in_buckets_join_by_them(lake: Lake) -> None:
    """Of a part of the key, as orders and their lines; by as many as divide both numbers."""
    buckets(lake, "db.a", ("k",), 8)
    buckets(lake, "db.b", ("k", "n"), 12)

    def lines() -> DataFrame:
        a, b = lake.load("db.a", **VECTORS).alias("a"), lake.load("db.b", **VECTORS).alias("b")
        return a.join(b, a["k"] == b["k"]).groupBy("a.k", "a.v").agg({"b.v": "sum"})

    assert "ArcticGroups 4 by bucket(long)" in shown_plan(lines())
    assert_alike(lake, lines, exchanges=0, otherwise=2)
    b = lake.load("db.b", **VECTORS)
    assert_alike(lake, lambda: b.groupBy("k").sum("v"), exchanges=0, otherwise=1)
    assert_alike(lake, lambda: b.groupBy("n").sum("v"), exchanges=1, otherwise=1)


@pytest.mark.parametrize("options", [VECTORS, MERGE])
def test_tasks_are_sent_classes_of_spark_alone(lake: Lake, options: Mapping[str, str]) -> None:
    """Executors have none of ours, and tasks are sent parts of the plan that they are of."""
    pair(lake)
    put(lake, "db.b", range(1_000, 1_400), 1, "overwrite")
    put(lake, "db.b", range(1_000, 1_400, 4), 3)
    frame = joined(lake, **options).groupBy("a.id").agg(collect_list("b.v"))
    # Its join remembers both partitionings, once it is asked.
    sent = lake.load("db.b", **options).withColumnRenamed("v", "w").hint("broadcast")
    for each in (frame, frame.join(lake.load("db.a", **options).join(sent, "id"), "id")):
        written: Any = lake.spark._jvm.java.io.ByteArrayOutputStream()  # type: ignore[union-attr]
        stream = lake.spark._jvm.java.io.ObjectOutputStream(written)  # type: ignore[union-attr]
        stream.writeObject(each._jdf.queryExecution().toRdd())
        stream.flush()

        ours = re.findall(rb"arctic[./]spark[./](?:Grouped|KeyGroups)\w*", written.toByteArray())
        assert ours == []
        assert "ArcticGroups" in shown_plan(each)


def test_fewer_groups_than_cores_are_not_worth_it(lake: Lake) -> None:
    """A group is read by one task."""
    pair(lake, **{"base.file-index.hash-bucket": "1", "change.file-index.hash-bucket": "1"})

    assert_alike(lake, lambda: joined(lake, **VECTORS), exchanges=2, otherwise=2)


def test_a_small_table_is_broadcast(lake: Lake) -> None:
    """No scan is asked for groups then."""
    pair(lake)
    with settings(lake, spark__sql__autoBroadcastJoinThreshold="10485760"):
        plan = shown_plan(joined(lake, **VECTORS))

    assert "BroadcastHashJoin" in plan
    assert "ArcticGroups" not in plan
