"""The reads and commands of systems on Spark, and the settings that all their sessions share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers.systems.harness import REGIONS_AND_STATUSES, System, plain

MASTER = "local[2]"
UPSERTS = "when matched then update set * when not matched then insert *"
DELETES = "when matched then delete"
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
}


class SparkSystem(System):
    """Answers every read from one frame."""

    spark: SparkSession

    catalog = ""
    """In which the table has its name in SQL."""

    @abstractmethod
    def frame(self) -> DataFrame:
        """Return the current rows, not computed yet."""

    def command(self, statement: str, source: str) -> None:
        """Run a command on the table, perhaps with the rows of a folder as ``changes``."""
        self.spark.read.parquet(source).createOrReplaceTempView("changes")
        self.spark.sql(statement.format(target=f"{self.catalog}.{self.table}"))

    def merge(self, clauses: str, source: str) -> None:
        """Merge the rows of a folder, by the keys of the table."""
        same = " and ".join(f"t.{key} = s.{key}" for key in self.keys)
        self.command(f"merge into {{target}} t using changes s on {same} {clauses}", source)

    def query(self, statement: str) -> DataFrame:
        """Return a query on the tables of the namespace, not computed yet."""
        self.spark.sql(f"use {self.catalog}.{self.table.partition('.')[0]}")
        return self.spark.sql(statement)

    def ask(self, statement: str) -> list[list[Any]]:
        return [[plain(value) for value in row] for row in self.query(statement).collect()]

    def drain(self, statement: str) -> None:
        self.compute(self.query(statement))

    def compute(self, frame: DataFrame) -> None:
        """Make every row of a frame, and forget it."""
        frame.write.format("noop").mode("overwrite").save()

    def aggregate(self) -> int:
        groups = self.frame().groupBy(*REGIONS_AND_STATUSES)
        figures = {"amount": "sum", "discount": "avg", "quantity": "sum", "*": "count"}
        return len(groups.agg(figures).collect())

    def column_sum(self) -> int:
        return len(self.frame().selectExpr("sum(amount)").collect())

    def key_range(self, low: int, high: int) -> int | None:
        self.compute(self.frame().where(f"order_id >= {low} and order_id < {high}"))
        return None

    def lookup(self, key: int) -> int:
        return len(self.frame().where(f"order_id = {key}").collect())

    def dump(self) -> int | None:
        self.compute(self.frame())
        return None

    def export(self, target: str) -> None:
        self.frame().write.parquet(target)


def start(conf: Mapping[str, str]) -> SparkSession:
    """Start a session with the shared settings and some more."""
    builder = SparkSession.builder.master(MASTER).appName("peers")
    for name, value in {**SETTINGS, **conf}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
