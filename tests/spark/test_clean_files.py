"""Files that no delete can touch, read by Spark's own Parquet scan: the same rows, faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import arctic
from arctic.spark.jvm.table_v2 import SPARK_READS_CONF
from tests.spark.lake import NAME, Lake, shown_plan, with_settings

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("amount", pa.float64()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
PLAIN = ["id", "region", "amount", "price", "at"]
MERGED = {"read.deletion-vector.min-rows": "1000"}
"""Has Arctic read the few files with deletes."""
SHAPES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "everything": lambda t: t.select(*PLAIN),
    "a nested column": lambda t: t,
    "range of keys": lambda t: t.select(*PLAIN).where("id < 30"),
    "one key": lambda t: t.select(*PLAIN).where("id = 7"),
    "NaN is the greatest number": lambda t: t.select(*PLAIN).where("amount > 90"),
    "two conditions": lambda t: t.select(*PLAIN).where("region = 'a b' and id > 50"),
    "or": lambda t: t.select(*PLAIN).where("id = 3 or price is null"),
    "count": lambda t: t.agg(f.count("*")),
    "aggregates": lambda t: t.groupBy("region").agg(f.sum("price"), f.max("at"), f.min("id")),
    "self-join": lambda t: t.alias("x").join(t.alias("y"), "id").select("x.id", "y.price"),
    "self-join with filters": lambda t: (
        t.where("id < 20")
        .join(t.where("id > 10").select("id", f.col("price").alias("other")), "id")
        .select("id", "price", "other")
    ),
    "union": lambda t: t.select("id").where("id < 5").union(t.select("id").where("id > 95")),
    "top": lambda t: t.select("id", "region").orderBy(f.desc("id")).limit(3),
    "distinct": lambda t: t.select("region").distinct(),
    "subquery": lambda t: t.select("id").where(f.col("id").isin([1, 2, 3]) & (f.col("price") > 0)),
    "a filter that is not deterministic": lambda t: t.select("id").where("rand(1) < 2"),
    "cached": lambda t: t.select("id", "price").cache(),
}


def rows(first: int, last: int, factor: int = 1) -> pa.Table:
    """Return rows with nulls and NaN in them."""
    numbers = range(first, last)
    return pa.table(
        [
            pa.array(numbers),
            pa.array([["a b", "ü/x", None][number % 3] for number in numbers]),
            pa.array([float("nan") if n % 10 == 0 else float(n * factor) for n in numbers]),
            pa.array([None if n % 11 == 0 else Decimal(n * factor) for n in numbers]).cast(
                pa.decimal128(10, 2)
            ),
            pa.array([n * 1_000_000 for n in numbers], pa.timestamp("us", tz="UTC")),
            pa.array([[str(number)] for number in numbers]),
        ],
        schema=SCHEMA,
    )


@contextmanager
def reading_clean_files(lake: Lake, wanted: bool) -> Iterator[None]:
    """Turn the reading of clean files on or off."""
    before = lake.spark.conf.get(SPARK_READS_CONF) or "true"
    lake.spark.conf.set(SPARK_READS_CONF, str(wanted).lower())
    try:
        yield
    finally:
        lake.spark.conf.set(SPARK_READS_CONF, before)


def result(frame: DataFrame) -> list[str]:
    """Return rows in a form that compares NaN too."""
    return sorted(str(row) for row in frame.collect())


def assert_alike(lake: Lake) -> None:
    """Compare every shape with and without."""
    for name, shape in SHAPES.items():
        answers = []
        for wanted in (True, False):
            with reading_clean_files(lake, wanted):
                frame = shape(lake.load())
                answers.append(result(frame))
                frame.unpersist()
        assert answers[0] == answers[1], name


def put(lake: Lake, data: pa.Table, mode: str) -> None:
    """Write without Spark."""
    arctic.write(NAME, data, mode=mode, warehouse=lake.warehouse)


def test_rows_are_the_same_whoever_reads_the_files(lake: Lake) -> None:
    """Clean, partly clean and optimized tables, in every shape of query."""
    stable = {"write.upsert.cross-partition": "assume-stable", **MERGED}
    lake.create(schema=SCHEMA, partition_by=("region",), properties=stable)
    put(lake, rows(0, 80), "overwrite")
    assert "FileScan parquet" in shown_plan(lake.load().select("id"))
    assert "BatchScan" not in shown_plan(lake.load().select("id"))
    assert_alike(lake)

    put(lake, rows(60, 100, factor=2), "upsert")
    assert_alike(lake)

    arctic.optimize(NAME, type="full", warehouse=lake.warehouse)
    assert "BatchScan" not in shown_plan(lake.load().select("id"))
    assert_alike(lake)


def test_files_are_read_by_both_where_some_are_clean(lake: Lake) -> None:
    """A union: no row is missing, none is there twice."""
    lake.create(schema=SCHEMA, partition_by=("region",), primary_key=("id", "region"))
    some = rows(0, 60).filter(pc.is_valid(rows(0, 60)["region"]))
    put(lake, some, "overwrite")
    put(lake, some.filter(pc.equal(some["region"], "a b")), "upsert")

    frame = lake.load(**MERGED).select("id").where("id < 50")

    plan = shown_plan(frame)
    assert "FileScan parquet" in plan
    assert "BatchScan" in plan
    assert sorted(row.id for row in frame.collect()) == [n for n in range(50) if n % 3 != 2]


def test_columns_whose_name_changed_are_arctic_s_own(lake: Lake) -> None:
    """Spark would look for them by name, and find nothing or another column."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 10), "overwrite")
    table = arctic.open_table(NAME, warehouse=lake.warehouse)
    for store in (table._opened.base, table._opened.change):
        assert store is not None
        with store.update_schema() as update:
            update.rename_column("price", "cost")
        with store.refresh().update_schema() as update:
            update.add_column("price", update._schema.find_field("region").field_type)

    renamed = lake.load().select("cost")
    reused = lake.load().select("price")

    assert "FileScan parquet" not in shown_plan(renamed)
    assert len([row for row in renamed.collect() if row.cost is not None]) == 9
    assert "FileScan parquet" not in shown_plan(reused)
    assert [row.price for row in reused.collect()] == [None] * 10


def test_looks_at_one_store_are_arctic_s_own(lake: Lake) -> None:
    """They have columns that no file has."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 10), "overwrite")

    frame = lake.load(store="base").select("id", "_transaction_id")

    assert "FileScan parquet" not in shown_plan(frame)
    assert len(frame.collect()) == 10


def test_a_new_session_has_both_rules_and_settings_of_its_own(lake: Lake) -> None:
    """Spark reads the files there too; where that session says no, its scans read every row."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 10), "overwrite")
    other = lake.spark.newSession()

    for reads, scan in (("true", True), ("false", False)):
        other.conf.set(SPARK_READS_CONF, reads)
        reader = other.read.format("arctic").option("warehouse", lake.warehouse)
        frame = reader.load(NAME).select("id")
        assert ("FileScan parquet" in shown_plan(frame)) is scan
        assert sorted(row.id for row in frame.collect()) == list(range(10))


def test_small_tables_are_broadcast(lake: Lake) -> None:
    """Spark knows how much a scan reads, by the columns that it reads."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 10), "overwrite")
    put(lake, rows(5, 15), "upsert")
    large = lake.spark.range(1_000_000)

    plan = shown_plan(large.join(lake.load().select("id"), "id"))

    assert "BroadcastHashJoin" in plan


def test_rows_that_are_packed_well_are_not_taken_for_few(lake: Lake) -> None:
    """Values of 160,000 bytes lie in files of less, and that many are what Spark hears of."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("n", pa.int64())])
    lake.create(schema=schema, partition_by=())
    lake.save(lake.spark.range(20_000).selectExpr("id", "id div 10000 n"), "overwrite")
    frame = lake.load()
    files = sum(lake.table().inspect("files").column("size_bytes").to_pylist())
    others = lake.spark.range(1_000_000)
    assert files < 159_999

    with with_settings(lake.spark, {"spark.sql.autoBroadcastJoinThreshold": "159999"}):
        assert "BroadcastHashJoin" not in shown_plan(others.join(frame.select("id"), "id"))
        few = shown_plan(others.join(frame.select("id").limit(100), "id"))
        assert "BroadcastHashJoin" in few
    with with_settings(lake.spark, {"spark.sql.autoBroadcastJoinThreshold": "160000"}):
        assert "BroadcastHashJoin" in shown_plan(others.join(frame.select("id"), "id"))


def test_spark_s_own_scan_compares_pages_with_their_checksums_if_told(lake: Lake) -> None:
    """A wrong bit in values that no codec looks at: Spark's reader looks where the option is on."""
    plain = {"write.parquet.compression-codec": "uncompressed"}
    lake.create(schema=SCHEMA, partition_by=(), properties=plain)
    put(lake, rows(0, 2_000), "overwrite")
    frame = lake.load().select("id", "amount")
    assert "FileScan parquet" in shown_plan(frame)
    before = sorted(map(tuple, frame.collect()))
    path = lake.table().inspect("files").column("path")[0].as_py()
    file = Path(urlparse(path).path)
    content = file.read_bytes()
    column = pq.read_metadata(file).row_group(0).column(2)
    at = column.data_page_offset + column.total_compressed_size // 2
    file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])

    assert sorted(map(tuple, lake.load().select("id", "amount").collect())) != before
    told = {"read.verify-checksums": "true"}
    with pytest.raises(Exception, match=r"could not verify page integrity|CRC checksum"):
        lake.load(**told).select("id", "amount").collect()
