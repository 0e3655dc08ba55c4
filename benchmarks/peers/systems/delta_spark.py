"""Delta on Spark with ``MERGE INTO`` and deletion vectors."""

from __future__ import annotations

import platform
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import DELETES, UPSERTS, SparkSystem, start


class DeltaSpark(SparkSystem):
    """A table in Spark's own catalog."""

    catalog = "spark_catalog"

    def __init__(self, folder: Path, package: str) -> None:
        super().__init__(folder)
        self.delta = package.rpartition(":")[2]
        self.spark = start(
            {
                # Spark fetches the jars itself: no package of Python's brings them.
                "spark.jars.packages": package,
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": (
                    "org.apache.spark.sql.delta.catalog.DeltaCatalog"
                ),
                "spark.sql.warehouse.dir": str(folder),
                "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
            }
        )

    def versions(self) -> dict[str, str]:
        return {
            "delta": self.delta,
            "pyspark": version("pyspark"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        self.spark.sql("create database if not exists bench")
        self.spark.read.parquet(source).writeTo(self.table).using("delta").create()

    def upsert(self, source: str) -> None:
        self.merge(UPSERTS, source)

    def delete(self, source: str) -> None:
        self.merge(DELETES, source)

    def frame(self) -> DataFrame:
        return self.spark.table(self.table)

    def compute(self, frame: DataFrame) -> None:
        """Without a write, in which Delta does not pin the version of a table that it reads.

        It then refuses a table with deletion vectors.
        """
        frame._jdf.queryExecution().toRdd().count()

    def compact(self) -> str:
        self.spark.sql(f"reorg table {self.table} apply (purge)").collect()
        return self.upkeep()

    def upkeep(self) -> str:
        self.spark.sql(f"optimize {self.table}").collect()
        return ""


if __name__ == "__main__":
    serve(partial(DeltaSpark, package=sys.argv[2]))
