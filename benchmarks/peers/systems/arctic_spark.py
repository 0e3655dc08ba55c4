"""Arctic through Spark, with a registered session."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame

import arctic
from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import MASTER, SETTINGS, SparkSystem


class ArcticSpark(SparkSystem):
    """A keyed table, written, read and optimized by Spark tasks."""

    catalog = "arctic"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        conf = {**SETTINGS, "spark.sql.catalog.arctic.warehouse": str(folder)}
        self.spark = arctic.local_session(master=MASTER, app_name="peers", conf=conf)

    def versions(self) -> dict[str, str]:
        return {
            "arctic": arctic.__version__,
            "pyspark": version("pyspark"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        schema = ds.dataset(source).schema
        arctic.create_table(self.table, schema, primary_key=self.keys, warehouse=str(self.folder))
        self._write(source, "overwrite")

    def upsert(self, source: str) -> None:
        self._write(source, "upsert")

    def delete(self, source: str) -> None:
        self._write(source, "delete")

    def frame(self) -> DataFrame:
        reader = self.spark.read.format("arctic").option("warehouse", str(self.folder))
        return reader.load(self.table)

    def compact(self) -> str:
        arctic.optimize(self.table, type="full", spark=self.spark, warehouse=str(self.folder))
        return ""

    def upkeep(self) -> str:
        arctic.optimize(self.table, spark=self.spark, warehouse=str(self.folder))
        return ""

    def _write(self, source: str, mode: str) -> None:
        writer = self.spark.read.parquet(source).write.format("arctic")
        writer.option("warehouse", str(self.folder)).mode(mode).save(self.table)


if __name__ == "__main__":
    serve(ArcticSpark)
