"""Hudi on Spark: a merge-on-read table, which finds rows by a bucket or by a record index."""

from __future__ import annotations

import platform
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.spark_reads import SparkSystem, start

BUCKETS = 4
INDEXES = {
    "bucket": {
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(BUCKETS),
    },
    "record": {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.record.index.enable": "true",
    },
}
OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    # As the others do: what is written last wins.
    "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING",
    # Measured by itself.
    "hoodie.compact.inline": "false",
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.bulkinsert.shuffle.parallelism": "4",
    "hoodie.delete.shuffle.parallelism": "4",
}


class HudiSpark(SparkSystem):
    """A table below a path."""

    def __init__(self, folder: Path, package: str, index: str) -> None:
        super().__init__(folder)
        self.hudi = package.rpartition(":")[2]
        self.is_bucketed = index == "bucket"
        self.options = {**OPTIONS, **INDEXES[index]}
        self.spark = start(
            {
                "spark.jars.packages": package,
                "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
                "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
                "spark.sql.extensions": ("org.apache.spark.sql.hudi.HoodieSparkSessionExtension"),
                "spark.sql.catalog.spark_catalog": (
                    "org.apache.spark.sql.hudi.catalog.HoodieCatalog"
                ),
            }
        )

    def versions(self) -> dict[str, str]:
        return {
            "hudi": self.hudi,
            "pyspark": version("pyspark"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        self._write(source, "bulk_insert", "overwrite")

    def upsert(self, source: str) -> None:
        self._write(source, "upsert", "append")

    def delete(self, source: str) -> None:
        self._write(source, "delete", "append")

    def frame(self) -> DataFrame:
        rows = self.spark.read.format("hudi").load(self._path())
        return rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))

    def query(self, statement: str) -> DataFrame:
        """As the table has no catalog, a view has its name."""
        self.frame().createOrReplaceTempView(self.table.partition(".")[2])
        return self.spark.sql(statement)

    def compact(self) -> str:
        call = f"call run_compaction(op => 'scheduleandexecute', path => '{self._path()}'"
        given = ",".join(f"{name}={value}" for name, value in self._options().items() if value)
        self.spark.sql(
            f"{call}, options => '{given},hoodie.compact.inline.max.delta.commits=1')"
        ).collect()
        return ""

    def _path(self) -> str:
        return f"{self.folder}/{self.table}"

    def _options(self) -> dict[str, str]:
        keys = ",".join(self.keys)
        hashed = {"hoodie.bucket.index.hash.field": keys} if self.is_bucketed else {}
        return {**self.options, **hashed, "hoodie.datasource.write.recordkey.field": keys}

    def _write(self, source: str, operation: str, mode: str) -> None:
        writer = self.spark.read.parquet(source).write.format("hudi").options(**self._options())
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer = writer.option("hoodie.table.name", self.table.rpartition(".")[2])
        writer.mode(mode).save(self._path())


if __name__ == "__main__":
    serve(partial(HudiSpark, package=sys.argv[2], index=sys.argv[3]))
