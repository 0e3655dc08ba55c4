"""Rows that come to a stream: each file of a folder is one batch."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from tests.spark.lake import NAME, SCHEMA, Lake

Row = tuple[int, str, float]
FIELDS = "id long, region string, amount double"


class Source:
    """A folder of files, each of which becomes a batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder / "source"
        self._folder.mkdir()
        self.checkpoint = str(folder / "checkpoint")

    def put(self, *rows: Row) -> None:
        """Add one file."""
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        number = len(list(self._folder.iterdir()))
        path = self._folder / f"{number:05d}.parquet"
        pq.write_table(pa.table(columns, schema=SCHEMA), path)
        # Spark takes files by their age, and two that are written at once may be of one age.
        age = path.stat().st_mtime + number
        os.utime(path, (age, age))

    def frame(self, fields: str = FIELDS) -> DataFrame:
        """Return the files as a stream."""
        reader = self._spark.readStream.schema(fields).option("maxFilesPerTrigger", "1")
        return reader.parquet(str(self._folder))

    def options(self, lake: Lake, **options: str) -> dict[str, str]:
        """Return what a stream into the table of the test is told."""
        given = {"warehouse": lake.warehouse, "checkpointLocation": self.checkpoint}
        return {**given, **options}

    def drain(
        self, lake: Lake, frame: DataFrame | None = None, /, mode: str = "append", **options: str
    ) -> str:
        """Write everything that has not been written; return the id of the query.

        Without a mode it appends, so that rows which land twice are seen.
        """
        if mode == "append":
            options = {"write-mode": "append", **options}
        writer = (self.frame() if frame is None else frame).writeStream.format("arctic")
        writer = writer.options(**self.options(lake, **options)).outputMode(mode)
        query = writer.trigger(availableNow=True).start(NAME)
        query.awaitTermination()
        return str(query.id)

    def forget_last_commit(self) -> None:
        """Leave the checkpoint as a kill between our commit and Spark's own does."""
        commits = Path(self.checkpoint) / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
