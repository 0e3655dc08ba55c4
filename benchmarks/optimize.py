"""Optimizing beside the raw limit: ``make bench-optimize``.

A table is loaded, and then three times changed and optimized: minor, major, full. Before each run
its unmerged files are read and written again by pyarrow alone, on as many cores: the same bytes,
without a merge. Reads are timed before and after each run.

The data is made up and the same every time; figures of two commits compare only on the same quiet
machine, so read the ratios.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.memory import PeakMemory
from benchmarks.orders import COLUMNS, SCHEMA, base_rows, change_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = "bench.orders"
BATCHES = 5
READ_REPEATS = 3
MIB = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-optimize", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="base rows of the table")
    parser.add_argument("--changes", type=int, default=1_000_000, help="changes before each run")
    parser.add_argument("--types", default="minor,major,full", help="runs, in this order")
    parser.add_argument("--buckets", type=int, default=4, help="nodes of the table")
    parser.add_argument("--no-spark", action="store_true", help="run tasks in threads instead")
    parser.add_argument("--folder", type=Path, help="keeps the table; else a temporary folder")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-", dir=given.folder) as folder:
        run = OptimizeRun(Path(folder), given)
        run.load()
        for number, kind in enumerate(given.types.split(",")):
            run.change(number)
            run.optimize(kind)
        run.report.show()
        run.spark.stop()
    return 0


class OptimizeRun:
    """One table in a folder of its own."""

    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder = folder
        self.given = given
        self.cores = os.cpu_count() or 1
        self.warehouse = str(folder / "warehouse")
        self.spark = arctic.local_session(
            app_name="arctic benchmark",
            conf={"spark.driver.memory": "4g", "spark.local.dir": str(folder / "spark")},
        )
        self.report = Report(
            f"{given.rows:,} base rows x {COLUMNS} columns, {given.changes:,} changes "
            f"(80 % updates) before each run, {self.cores} cores"
        )

    def load(self) -> None:
        """Load the base through Spark."""
        self.report.step("generating and loading the base")
        buckets = str(self.given.buckets)
        arctic.create_table(
            TABLE,
            SCHEMA,
            primary_key=["order_id"],
            properties={
                "base.file-index.hash-bucket": buckets,
                "change.file-index.hash-bucket": buckets,
            },
            warehouse=self.warehouse,
        )
        source = self.folder / "base"
        source.mkdir()
        for number, chunks in enumerate(_batched(base_rows(self.given.rows), 10)):
            with pq.ParquetWriter(source / f"{number}.parquet", SCHEMA, compression="zstd") as file:
                for chunk in chunks:
                    file.write_table(chunk)
        taken = seconds(lambda: self.save(self.spark.read.parquet(str(source)), "overwrite"))
        self.report.add("load (overwrite)", taken, rows=self.given.rows)
        for path in source.iterdir():
            path.unlink()

    def change(self, number: int) -> None:
        """Upsert changes, in several commits."""
        self.report.step("upserting changes")
        rows = self.given.changes // BATCHES
        for batch in range(BATCHES):
            changes = change_rows(self.given.rows, rows, number=number * BATCHES + batch)
            path = self.folder / "changes.parquet"
            pq.write_table(changes, path)
            self.save(self.spark.read.parquet(str(path)), "upsert")

    def optimize(self, kind: str) -> None:
        """Run one type, beside pyarrow on the same bytes."""
        self.report.step(f"reading, unmerged, before {kind}")
        self.read("before", kind)
        files = arctic.open_table(TABLE, warehouse=self.warehouse).inspect("files").to_pylist()
        merged = arctic.status(TABLE, warehouse=self.warehouse).partitions[0].merged_up_to
        live = [
            file
            for file in files
            if file["kind"] == "B" or (file["kind"] == "I" and file["sequence_number"] > merged)
        ]
        self.report.step("pyarrow alone")
        raw = seconds(lambda: self.copy([file["path"] for file in live]))
        self.report.step(kind)
        spark = None if self.given.no_spark else self.spark
        with PeakMemory() as peak:
            done = arctic.optimize(TABLE, type=kind, spark=spark, warehouse=self.warehouse)
        changed = done.before.inserts.bytes + done.before.change_deletes.bytes
        rows = done.before.base.rows + done.before.inserts.rows
        where = "threads" if spark is None else "Spark"
        self.report.add(
            f"{kind} ({where}, {done.tasks} tasks)",
            done.seconds,
            rows=rows,
            limit=raw,
            limit_name=f"pyarrow reads and writes the same data files, {self.cores} threads",
        )
        self.report.note(
            f"{kind}: written",
            f"{done.bytes_written / MIB:,.0f} MiB, {done.before.bytes / done.seconds / MIB:,.0f} "
            f"MiB/s of input, write amplification {done.bytes_written / changed:.1f}",
        )
        self.report.note(
            f"{kind}: files",
            f"{done.before.files} -> {done.after.files}, base rows {done.after.base.rows:,}, "
            f"position-deleted {done.after.position_deletes.rows:,}",
        )
        self.report.note(f"{kind}: peak memory", str(peak))
        self.report.step(f"reading after {kind}")
        self.read("after", kind)

    def read(self, when: str, kind: str) -> None:
        """Time reads of everything, and of one column."""
        table = self.spark.read.format("arctic").option("warehouse", self.warehouse).load(TABLE)
        rows = self.given.rows
        for what, frame in (
            ("full read", table),
            ("sum of one column", table.selectExpr("sum(amount)")),
        ):
            taken = seconds(partial(_noop, frame), repeats=READ_REPEATS)
            self.report.add(f"{what} {when} {kind}", taken, rows=rows)

    def copy(self, paths: Sequence[str]) -> None:
        """Read and write files with pyarrow, one for each core at a time."""

        def copy_one(item: tuple[int, str]) -> None:
            number, path = item
            target = self.folder / f"copy{number % self.cores}.parquet"
            source = pq.ParquetFile(path.removeprefix("file://"))
            with pq.ParquetWriter(target, source.schema_arrow, compression="zstd") as writer:
                for group in range(source.num_row_groups):
                    writer.write_table(source.read_row_group(group))

        with ThreadPoolExecutor(self.cores) as pool:
            list(pool.map(copy_one, enumerate(paths)))

    def save(self, frame: DataFrame, mode: str) -> None:
        """Write a frame into the table."""
        frame.write.format("arctic").option("warehouse", self.warehouse).mode(mode).save(TABLE)


def _noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _batched(chunks: Iterator[pa.Table], count: int) -> Iterator[list[pa.Table]]:
    """Yield so many chunks at a time."""
    held: list[pa.Table] = []
    for chunk in chunks:
        held.append(chunk)
        if len(held) == count:
            yield held
            held = []
    if held:
        yield held


if __name__ == "__main__":
    sys.exit(main())
