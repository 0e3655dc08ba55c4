"""Tables in Hadoop's own file system through Spark: its workers write, its Parquet scan reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.io import PY_IO_IMPL
from pyspark.sql import DataFrame, SparkSession

import arctic
from arctic.iceberg.storage.file_io import ArrowIO
from tests.catalogs.verbs import pairs
from tests.serve import SERVERS
from tests.spark import stores_driver as driver

PLAIN = "db.plain"


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Start a name node and a data node; return the properties of a catalog of tables there."""
    with SERVERS["hdfs"](tmp_path_factory.mktemp("hadoop")) as properties:
        yield properties


def save(frame: DataFrame, name: str, catalog: Mapping[str, str], *, mode: str) -> None:
    """Write rows, or delete keys, by Spark."""
    given = {f"catalog.{key}": text for key, text in catalog.items()}
    frame.write.format("arctic").options(**given, primaryKey="id").mode(mode).save(name)


def of_city(spark: SparkSession, first: int, last: int, city: str) -> DataFrame:
    """Return rows of one city."""
    return spark.range(first, last).selectExpr("id", f"'{city}' city")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_writes_and_its_own_scan_reads(
    spark: SparkSession, hadoop: Mapping[str, str]
) -> None:
    """Clean files, dirty ones, and those that its executors have optimized."""
    save(of_city(spark, 0, 100, "Rome"), driver.NAME, hadoop, mode="upsert")
    arctic.optimize(driver.NAME, type="full", catalog=hadoop, spark=spark)
    driver.check(spark, hadoop, by_spark=True)

    save(of_city(spark, 40, 60, "Oslo"), driver.NAME, hadoop, mode="upsert")
    save(spark.range(5, 15), driver.NAME, hadoop, mode="delete")
    driver.check(spark, hadoop, by_spark=True)
    counted = driver.load(spark, hadoop).groupBy("city").count().collect()
    assert sorted(map(tuple, counted)) == [("Oslo", 20), ("Rome", 70)]

    arctic.optimize(driver.NAME, type="full", catalog=hadoop, spark=spark)
    plans = driver.check(spark, hadoop, by_spark=True)
    assert f"{hadoop['warehouse']}/" in plans


@pytest.mark.spark
@pytest.mark.slow
def test_a_plain_table_is_adopted_changed_by_spark_and_released(
    spark: SparkSession, hadoop: Mapping[str, str]
) -> None:
    """PyIceberg's table before and after; its own way to Hadoop needs a library of the machine."""
    plain = load_catalog("arctic", **hadoop, **{PY_IO_IMPL: f"{ArrowIO.__module__}.ArrowIO"})
    plain.create_namespace_if_not_exists("db")
    schema = pa.schema([("id", pa.int64()), ("city", pa.string())])
    table = plain.create_table(PLAIN, schema)
    table.append(driver.rows(0, 10, "Rome").cast(schema))
    arctic.adopt(PLAIN, primary_key=["id"], catalog=hadoop)

    given = {f"catalog.{key}": text for key, text in hadoop.items()}
    frame = spark.read.format("arctic").options(**given).load(PLAIN)
    assert frame.where("city = 'Rome'").count() == 10
    save(of_city(spark, 8, 12, "Oslo"), PLAIN, hadoop, mode="upsert")
    expected = [(at, "Rome" if at < 8 else "Oslo") for at in range(12)]
    assert sorted(map(tuple, frame.collect())) == expected
    by_row_numbers = frame.sparkSession.read.format("arctic").options(
        **given, **{"read.deletion-vector.min-rows": "1"}
    )
    plan = driver.plan(by_row_numbers.load(PLAIN))
    assert f"{hadoop['warehouse']}/" in plan
    assert "FileScan parquet" in plan
    assert "BatchScan" not in plan
    assert sorted(map(tuple, by_row_numbers.load(PLAIN).collect())) == expected

    arctic.optimize(PLAIN, type="full", catalog=hadoop, spark=spark)
    arctic.release(PLAIN, catalog=hadoop)
    assert pairs(plain.load_table(PLAIN).scan().to_arrow()) == expected
    plain.close()
