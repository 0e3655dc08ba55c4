"""Paimon on Spark: a primary-key table of fixed buckets."""

from __future__ import annotations

import platform
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import DELETES, SparkSystem, start

CATALOG = "lake"
BUCKETS = 4


class PaimonSpark(SparkSystem):
    """Merge-on-read, with the engine that keeps the last row of a key."""

    catalog = CATALOG

    def __init__(self, folder: Path, jar: str) -> None:
        super().__init__(folder)
        self.paimon = Path(jar).stem.rpartition("-")[2]
        self.spark = start(
            {
                "spark.jars": jar,
                "spark.sql.extensions": (
                    "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
                ),
                f"spark.sql.catalog.{CATALOG}": "org.apache.paimon.spark.SparkCatalog",
                f"spark.sql.catalog.{CATALOG}.warehouse": str(folder),
            }
        )

    def versions(self) -> dict[str, str]:
        return {
            "paimon": self.paimon,
            "pyspark": version("pyspark"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        self.spark.sql(f"create database if not exists {CATALOG}.bench")
        columns = ", ".join(
            f"{field.name} {field.dataType.simpleString()}"
            + (" not null" if field.name in self.keys else "")
            for field in self.spark.read.parquet(source).schema
        )
        self.spark.sql(
            f"create table {CATALOG}.{self.table} ({columns}) using paimon "
            f"tblproperties ('primary-key' = '{','.join(self.keys)}', 'bucket' = '{BUCKETS}')"
        )
        self.upsert(source)

    def upsert(self, source: str) -> None:
        self.spark.read.parquet(source).createOrReplaceTempView("changes")
        self.spark.sql(f"insert into {CATALOG}.{self.table} select * from changes")

    def delete(self, source: str) -> None:
        self.merge(DELETES, source)

    def frame(self) -> DataFrame:
        return self.spark.table(f"{CATALOG}.{self.table}")

    def compact(self) -> str:
        self.spark.sql(f"call {CATALOG}.sys.compact(table => '{self.table}')").collect()
        return ""

    def upkeep(self) -> str:
        return "has no upkeep: it compacts in writes"


if __name__ == "__main__":
    serve(partial(PaimonSpark, jar=sys.argv[2]))
