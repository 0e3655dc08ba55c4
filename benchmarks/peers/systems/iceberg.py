"""Iceberg on Spark with ``MERGE INTO``, by merge-on-read or copy-on-write."""

from __future__ import annotations

import platform
import sys
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import DELETES, UPSERTS, SparkSystem, start

CATALOG = "lake"
JAR_PACKAGE = "snowpark_connect_deps_iceberg"
MODES = {"mor": "merge-on-read", "cow": "copy-on-write"}


class Iceberg(SparkSystem):
    """A format 2 table in a Hadoop catalog."""

    catalog = CATALOG

    def __init__(self, folder: Path, mode: str) -> None:
        super().__init__(folder)
        self.mode = MODES[mode]
        self.jar = _jar()
        extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        self.spark = start(
            {
                "spark.jars": str(self.jar),
                "spark.sql.extensions": extensions,
                f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
                f"spark.sql.catalog.{CATALOG}.type": "hadoop",
                f"spark.sql.catalog.{CATALOG}.warehouse": str(folder),
            }
        )

    def versions(self) -> dict[str, str]:
        return {
            "iceberg": self.jar.stem.rpartition("-")[2],
            "pyspark": version("pyspark"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        writer = self.spark.read.parquet(source).writeTo(f"{CATALOG}.{self.table}").using("iceberg")
        writer = writer.tableProperty("format-version", "2")
        for verb in ("merge", "update", "delete"):
            writer = writer.tableProperty(f"write.{verb}.mode", self.mode)
        writer.create()

    def upsert(self, source: str) -> None:
        self.merge(UPSERTS, source)

    def delete(self, source: str) -> None:
        self.merge(DELETES, source)

    def frame(self) -> DataFrame:
        return self.spark.table(f"{CATALOG}.{self.table}")

    def compact(self) -> str:
        options = "map('rewrite-all', 'true', 'remove-dangling-deletes', 'true')"
        arguments = f"table => '{self.table}', options => {options}"
        call = f"call {CATALOG}.system.rewrite_data_files({arguments})"
        self.spark.sql(call).collect()
        return ""


def _jar() -> Path:
    """Return the runtime that the package brings for this Spark; PyPI's Spark has Scala 2.12."""
    spec = find_spec(JAR_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"package {JAR_PACKAGE!r}: not installed")
    spark = ".".join(version("pyspark").split(".")[:2])
    jars = Path(spec.origin).parent / "jars"
    return next(jars.glob(f"iceberg-spark-runtime-{spark}_2.12-*.jar"))


if __name__ == "__main__":
    serve(partial(Iceberg, mode=sys.argv[2]))
