"""Tables in an object store through Spark: by its own Parquet scan, or else by Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.requests.object_store import SECRET_KEY, object_store
from tests.spark import stores_driver as driver
from tests.stores.servers import running_azure


@pytest.mark.spark
def test_without_the_classes_of_a_store_python_reads_and_says_why(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The plan names the package that is missing, and no key."""
    with object_store() as store:
        catalog = store.catalog(tmp_path / "catalog.db")
        driver.made(catalog)
        plans = driver.check(spark, catalog, by_spark=False)

        assert "the classes for s3a:// are not on its class path" in plans
        assert "org.apache.hadoop:hadoop-aws:" in plans
        assert SECRET_KEY not in plans
        signed = driver.load(spark, {**catalog, "s3.signer-endpoint": "x"})
        assert "property s3.signer-endpoint has no counterpart in Hadoop" in driver.plan(signed)

        given = {f"catalog.{name}": text for name, text in catalog.items()}
        new = spark.createDataFrame([(1, "Oslo"), (200, "Lima")], "id long, city string")
        new.write.format("arctic").options(**given).mode("upsert").save(driver.NAME)
        assert driver.load(spark, catalog).where("city != 'Rome'").count() == 2

    with running_azure() as server:
        lake = {"type": "sql", "uri": f"sqlite:///{tmp_path}/azure.db", **server}
        driver.made(lake)
        assert "org.apache.hadoop:hadoop-azure:" in driver.check(spark, lake, by_spark=False)


@pytest.mark.spark
@pytest.mark.slow
def test_with_them_spark_reads_clean_and_dirty_files(tmp_path: Path) -> None:
    """With keys that only the catalog knows; where they do not open the files, Python reads.

    So it does with other settings for a bucket: Hadoop would use the client that it has.
    """
    if not any(driver.JARS.glob("*.jar")):
        pytest.skip(f"needs Maven: `make test-servers` puts Hadoop's classes into {driver.JARS}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.stores_driver", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stdout.splitlines()[-1].strip() == "done"
