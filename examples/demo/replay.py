"""The steps of the demo: what a user of Spark would write, measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import arctic
from examples.demo.promotions import KEY, ORDERING_COLUMN, SCHEMA, Week

TABLE = "grocery.promotions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit, and what it cost."""

    title: str
    event_count: int
    """Events or keys that came in."""
    seconds: float
    """From the call to the return, reading the delivered file included."""
    new_files: int
    new_bytes: int
    table_bytes: int
    """All data files of the table before this step."""


class Replay:
    """A table in a fresh warehouse, and the writes to it, each one Spark job and one commit."""

    def __init__(self, spark: SparkSession, warehouse: Path) -> None:
        """Create the table."""
        self._spark = spark
        self._warehouse = str(warehouse)
        self.table = arctic.create_table(TABLE, SCHEMA, primary_key=KEY, warehouse=self._warehouse)

    def load(self, weeks: Sequence[Week]) -> Step:
        """Replace what is in the table, nothing yet, by the latest event of each key."""
        return self._measured(
            f"weeks {weeks[0].number}-{weeks[-1].number}, one load (overwrite)",
            sum(week.event_count for week in weeks),
            lambda: self._write(self._events(weeks), "overwrite"),
        )

    def upsert(self, week: Week) -> Step:
        """Bring one more week in."""
        return self._measured(
            f"week {week.number} (upsert)",
            week.event_count,
            lambda: self._write(self._events([week]), "upsert"),
        )

    def delete(self, products: pa.Table) -> Step:
        """Delete every row of some products; their keys are read from the table itself."""
        gone = self._spark.createDataFrame(products)
        keys = self.rows().join(f.broadcast(gone), "product_id", "left_semi").select(*KEY).cache()
        count = keys.count()
        step = self._measured(
            f"{products.num_rows:,} discontinued products (delete)",
            count,
            lambda: (
                keys.write.format("arctic")
                .option("warehouse", self._warehouse)
                .mode("delete")
                .save(TABLE)
            ),
        )
        keys.unpersist()
        return step

    def rows(self, **options: str) -> Any:
        """Return the merged view as a Spark frame."""
        reader = self._spark.read.format("arctic").option("warehouse", self._warehouse)
        return reader.options(**options).load(TABLE)

    def _events(self, weeks: Sequence[Week]) -> Any:
        return self._spark.read.parquet(*(str(week.path) for week in weeks))

    def _write(self, frame: Any, mode: str) -> None:
        (
            frame.write.format("arctic")
            .option("warehouse", self._warehouse)
            .option("ordering-column", ORDERING_COLUMN)
            .mode(mode)
            .save(TABLE)
        )

    def _measured(self, title: str, event_count: int, write: Callable[[], None]) -> Step:
        files_before, bytes_before = self._size()
        started = time.monotonic()
        write()
        seconds = time.monotonic() - started
        files, size = self._size()
        return Step(
            title=title,
            event_count=event_count,
            seconds=seconds,
            new_files=files - files_before,
            new_bytes=size - bytes_before,
            table_bytes=bytes_before,
        )

    def _size(self) -> tuple[int, int]:
        sizes = self.table.inspect("files")["size_bytes"].to_pylist()
        return len(sizes), sum(sizes)
