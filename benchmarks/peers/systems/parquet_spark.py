"""Plain Parquet tables of Spark: the limit for reads; nothing can be changed in them."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import SparkSystem, start


class ParquetSpark(SparkSystem):
    """Tables in Spark's own catalog, which a load replaces."""

    merges = False

    catalog = "spark_catalog"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spark = start({"spark.sql.warehouse.dir": str(folder)})

    def versions(self) -> dict[str, str]:
        return {"pyspark": version("pyspark"), "python": platform.python_version()}

    def load(self, source: str) -> None:
        self.spark.sql(f"create database if not exists {self.table.partition('.')[0]}")
        writer = self.spark.read.parquet(source).write.format("parquet").mode("overwrite")
        writer.saveAsTable(self.table)

    def upsert(self, source: str) -> None:
        raise NotImplementedError("Parquet alone replaces no row")

    def delete(self, source: str) -> None:
        raise NotImplementedError("Parquet alone deletes no row")

    def frame(self) -> DataFrame:
        return self.spark.table(self.table)


if __name__ == "__main__":
    serve(ParquetSpark)
