"""A warehouse seen through Spark, in the words that the tests use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import arctic

NAME = "db.events"
COLUMNS = "id long, region string, amount double"
SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), pa.field("region", pa.string()), pa.field("amount", pa.float64())]
)
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class Lake:
    """Tables of one test."""

    spark: SparkSession
    warehouse: str

    def create(
        self,
        *,
        schema: pa.Schema = SCHEMA,
        primary_key: Sequence[str] = ("id",),
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> arctic.Table:
        """Make the table of the test."""
        return arctic.create_table(
            NAME,
            schema,
            primary_key=primary_key,
            partition_by=partition_by,
            properties=properties,
            warehouse=self.warehouse,
        )

    def frame(self, rows: Iterable[tuple[Any, ...]], columns: str = COLUMNS) -> DataFrame:
        """Make a frame from literals."""
        return self.spark.createDataFrame(list(rows), columns)

    def save(self, frame: DataFrame, mode: str, **options: str) -> None:
        """Write to the table of the test."""
        writer = frame.write.format("arctic").mode(mode).option("warehouse", self.warehouse)
        writer.options(**options).save(NAME)

    def load(self, name: str = NAME, **options: str) -> DataFrame:
        """Read through Spark."""
        reader = self.spark.read.format("arctic").option("warehouse", self.warehouse)
        return reader.options(**options).load(name)

    def rows(self, name: str = NAME, **options: str) -> list[tuple[Any, ...]]:
        """Return the rows that Spark sees, sorted."""
        return sorted(tuple(row) for row in self.load(name, **options).collect())

    def arrow_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows that a reader without Spark sees, sorted."""
        table = arctic.read(NAME, warehouse=self.warehouse).read_all()
        return sorted(tuple(row.values()) for row in table.to_pylist())

    def put(self, rows: Rows, mode: str = "upsert") -> None:
        """Write without Spark, which takes a tenth of the time."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        data = pa.table(columns, schema=SCHEMA)
        arctic.write(NAME, data, mode=mode, warehouse=self.warehouse)

    def table(self) -> arctic.Table:
        """Open the table of the test without Spark."""
        return arctic.open_table(NAME, warehouse=self.warehouse)

    def count(self, name: str) -> int:
        """Count the rows of a metadata table."""
        return int(self.table().inspect(name).num_rows)

    def view(self, name: str, **options: str) -> None:
        """Make a temporary view of the table, as SQL does."""
        given = {"path": NAME, "warehouse": self.warehouse, **options}
        texts = ", ".join(f"`{key}` '{value}'" for key, value in given.items())
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} USING arctic OPTIONS ({texts})")


def shown_plan(frame: DataFrame) -> str:
    """Return what ``explain`` shows, of a session with its JVM beside it or one of Connect."""
    shown = StringIO()
    with redirect_stdout(shown):
        frame.explain()
    return shown.getvalue()


@contextmanager
def with_settings(spark: SparkSession, given: Mapping[str, str]) -> Iterator[None]:
    """Set settings for a time."""
    before = {name: spark.conf.get(name, None) for name in given}
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
