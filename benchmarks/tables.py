"""A table through Spark: load, upserts and reads, beside raw Parquet in the same run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.orders import COLUMNS, SCHEMA, base_rows, change_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = "bench.orders"
BIG_TABLE = "bench.orders_10x"
BATCH_SHARE = 0.02
GROWTH = 10
READ_REPEATS = 7
"""The JVM compiles what reads Parquet during the first few."""


def measure_tables(folder: Path, *, rows: int, batches: int, growth: bool) -> None:
    """Run everything and print one table of figures.

    Args:
        folder: scratch space: about 200 bytes a row, ten times that with ``growth``.
        rows: in the base load.
        batches: upserts of 2 % of it: 80 % updates, 20 % new rows.
        growth: also upsert into a table of ten times the rows.
    """
    run = TableRun(folder, rows, batches)
    run.generate()
    run.load()
    upserts = run.upsert()
    run.read()
    if growth:
        run.grow(upserts)
    run.report.show()
    run.spark.stop()


class TableRun:
    """One run in a folder of its own."""

    def __init__(self, folder: Path, rows: int, batches: int) -> None:
        self.folder = folder
        self.rows = rows
        self.batches = batches
        self.batch_rows = int(rows * BATCH_SHARE)
        self.warehouse = str(folder / "warehouse")
        self.spark = arctic.local_session(app_name="arctic benchmark")
        self.report = Report(
            f"{rows:,} base rows x {COLUMNS} columns, {batches} upserts of {self.batch_rows:,} rows"
        )

    def generate(self) -> None:
        """Write the input as Parquet, so that every writer reads the same files."""
        self.report.step("generating the input")
        write_parquet(self.folder / "base.parquet", base_rows(self.rows))
        for number in range(self.batches):
            batch = change_rows(self.rows, self.batch_rows, number=number)
            write_parquet(self.folder / f"batch{number}.parquet", [batch])
        warm_up = change_rows(self.rows, 1_000, number=self.batches)
        write_parquet(self.folder / "warm_up.parquet", [warm_up])
        self.create("bench.warm_up")
        self.save("warm_up.parquet", "bench.warm_up", "upsert")

    def load(self) -> None:
        """Load the base through Spark, beside a plain pyarrow copy of the same rows."""
        self.report.step("loading the base")
        raw = self.copy_seconds("base.parquet")
        self.create(TABLE)
        taken = seconds(lambda: self.save("base.parquet", TABLE, "overwrite"))
        name = "pyarrow read + write of the same rows"
        self.report.add("load (overwrite)", taken, rows=self.rows, limit=raw, limit_name=name)

    def upsert(self) -> list[float]:
        """Upsert every batch, beside a plain pyarrow copy of the same batch."""
        taken = []
        for number in range(self.batches):
            self.report.step(f"upsert {number + 1} of {self.batches}")
            raw = self.copy_seconds(f"batch{number}.parquet")
            taken.append(self.upsert_seconds(f"batch{number}.parquet", TABLE))
            name = "pyarrow read + write of the batch"
            self.report.add(
                f"upsert {number + 1}", taken[-1], rows=self.batch_rows, limit=raw, limit_name=name
            )
        self.create("bench.no_spark")
        batch = pq.read_table(self.folder / "batch0.parquet")
        without = seconds(
            lambda: arctic.write("bench.no_spark", batch, mode="upsert", warehouse=self.warehouse)
        )
        name = "pyarrow read + write of the batch"
        self.report.add(
            "upsert, no Spark", without, rows=self.batch_rows, limit=raw, limit_name=name
        )
        return taken

    def read(self) -> None:
        """Read with everything unmerged, beside Spark's and pyarrow's reads of the merged rows."""
        self.report.step("reading")
        compacted = self.folder / "compacted.parquet"
        merged_rows = arctic.read(TABLE, warehouse=self.warehouse)
        write_parquet(compacted, (pa.Table.from_batches([batch]) for batch in merged_rows))
        rows = pq.ParquetFile(compacted).metadata.num_rows
        parquet = self.spark.read.parquet(str(compacted))
        table = self.spark.read.format("arctic").option("warehouse", self.warehouse).load(TABLE)
        condition = "region = 'asia' and quantity >= 15"
        shapes: list[tuple[str, DataFrame, DataFrame]] = [
            ("merged full read", table, parquet),
            (
                "sum of one column",
                table.selectExpr("sum(amount)"),
                parquet.selectExpr("sum(amount)"),
            ),
            ("filtered read", table.where(condition), parquet.where(condition)),
        ]
        for what, ours, theirs in shapes:
            limit = seconds(noop(theirs), repeats=READ_REPEATS)
            taken = seconds(noop(ours), repeats=READ_REPEATS)
            name = "spark.read.parquet of the same rows, compacted"
            self.report.add(what, taken, rows=rows, limit=limit, limit_name=name)
        limit = seconds(lambda: pq.read_table(compacted), repeats=READ_REPEATS)
        taken = seconds(self.read_without_spark, repeats=READ_REPEATS)
        name = "pyarrow.parquet.read_table of the same rows, compacted"
        self.report.add(
            "merged full read, no Spark", taken, rows=rows, limit=limit, limit_name=name
        )
        self.report.note("peak memory of the heaviest reading task", self.task_memory())

    def grow(self, small: list[float]) -> None:
        """Upsert batches of the same size into a table of ten times the rows."""
        rows = self.rows * GROWTH
        self.report.step(f"loading {rows:,} rows: does an upsert's cost grow with the table?")
        write_parquet(self.folder / "big.parquet", base_rows(rows))
        self.create(BIG_TABLE)
        self.save("big.parquet", BIG_TABLE, "overwrite")
        big = []
        for number in range(self.batches):
            batch = change_rows(rows, self.batch_rows, number=number)
            write_parquet(self.folder / "big_batch.parquet", [batch])
            big.append(self.upsert_seconds("big_batch.parquet", BIG_TABLE))
        middle = len(small) // 2
        self.report.add(
            f"median upsert into {rows:,} rows",
            sorted(big)[middle],
            rows=self.batch_rows,
            limit=sorted(small)[middle],
            limit_name=f"median upsert into {self.rows:,} rows",
        )

    def create(self, table: str) -> None:
        """Create an empty, unpartitioned table of orders."""
        arctic.create_table(table, SCHEMA, primary_key=["order_id"], warehouse=self.warehouse)

    def save(self, source: str, table: str, mode: str) -> None:
        """Write a Parquet file into a table through Spark."""
        frame = self.spark.read.parquet(str(self.folder / source))
        frame.write.format("arctic").option("warehouse", self.warehouse).mode(mode).save(table)

    def upsert_seconds(self, source: str, table: str) -> float:
        """Return the time of one upsert."""
        return seconds(lambda: self.save(source, table, "upsert"))

    def copy_seconds(self, source: str) -> float:
        """Return the time to read and write a file with pyarrow alone."""
        return seconds(
            lambda: pq.write_table(
                pq.read_table(self.folder / source),
                self.folder / "copy.parquet",
                compression="zstd",
            )
        )

    def read_without_spark(self) -> None:
        """Read the merged rows in this process."""
        for _ in arctic.read(TABLE, warehouse=self.warehouse):
            pass

    def task_memory(self) -> str:
        """Return what a process of its own says of its memory."""
        command = [sys.executable, "-m", "benchmarks.reading_task", self.warehouse, TABLE]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def noop(frame: DataFrame) -> Callable[[], None]:
    """Return the work of computing every row of a frame."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def write_parquet(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write tables to one file."""
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
