"""The steps of the demo: what a user of Spark would write, measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
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
    """Events that came in; of a delete, its keys."""
    seconds: float
    """Everything included: reading the delivered file, finding keys, shuffle, files, commit."""
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

        def write() -> int:
            self._write(self._events(weeks), "overwrite")
            return sum(week.event_count for week in weeks)

        return self._measured(f"first load: {len(weeks)} weeks (overwrite)", write)

    def upsert(self, week: Week, *, only_store: int | None = None) -> Step:
        """Bring one more week in, or what one store sent of it."""
        events, sender = self._events([week]), ""
        if only_store is not None:
            events, sender = events.where(f.col("store_id") == only_store), f", store {only_store}"

        def write() -> int:
            self._write(events, "upsert")
            return week.event_count if only_store is None else int(events.count())

        return self._measured(f"week {week.number}{sender} (upsert)", write)

    def delete(self, products: pa.Table) -> Step:
        """Delete every row of some products; their keys are read from the table itself."""

        def write() -> int:
            gone = self._spark.createDataFrame(products)
            keys = self.rows().join(f.broadcast(gone), "product_id", "left_semi").select(*KEY)
            writer = keys.cache().write.format("arctic").option("warehouse", self._warehouse)
            writer.mode("delete").save(TABLE)
            return int(keys.count())

        return self._measured(f"{products.num_rows:,} products (delete)", write)

    def optimize(self) -> arctic.OptimizeReport:
        """Fold every change into the base store, as Spark tasks."""
        return arctic.optimize(TABLE, type="full", spark=self._spark, warehouse=self._warehouse)

    def base_by_pyiceberg(self) -> pa.Table:
        """Read the base store as any Iceberg engine does: it knows nothing of Arctic."""
        catalog = SqlCatalog("arctic", uri=f"sqlite:///{self._warehouse}/catalog.db")
        try:
            return catalog.load_table(TABLE).scan().to_arrow()
        finally:
            catalog.close()

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

    def _measured(self, title: str, write: Callable[[], int]) -> Step:
        files_before, bytes_before = self._size()
        started = time.monotonic()
        event_count = write()
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
