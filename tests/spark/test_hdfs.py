"""Tables in Hadoop's own file system through Spark: its workers write, its Parquet scan reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import DataFrame, SparkSession

import arctic
from tests.spark import s3a_driver as driver
from tests.stores.servers import running_hadoop


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Start a name node and a data node; return the properties of a catalog of tables there."""
    with running_hadoop() as properties:
        database = tmp_path_factory.mktemp("hadoop") / "lake.db"
        yield {"type": "sql", "uri": f"sqlite:///{database}", **properties}


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
