"""Saves of many tasks beside Spark's own Parquet: ``make bench-spark-write``.

Orders of twelve columns lie in eight Parquet files, in no order, and Spark reads them by 8 tasks.
They are saved into a table with a key, with partitions and without, as new rows and as changes; and
by Spark into Parquet, with ``partitionBy`` and without. One save of each kind is not counted, then
they take turns. Processor time is that of this process, the JVM and its workers; each figure is the
median of the rounds.

With ``--grouped`` the rows come out of a group-by of their key, which has brought them together.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import arctic
from benchmarks.measure import Report
from benchmarks.memory import family_of
from benchmarks.orders import base_rows
from benchmarks.peers.inputs import widened

FILES = 8
MASTER = "local[2]"
KEY = "order_id"
PARTITION = "region"
_TICKS = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-spark-write", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5, help="medians are taken of so many")
    parser.add_argument("--grouped", action="store_true", help="rows out of a group-by of the key")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        run = SaveRun(Path(folder), rows=given.rows, grouped=given.grouped)
        try:
            run.measure(given.repeats)
        finally:
            run.spark.stop()
        run.report.show()
    return 0


class SaveRun:
    """One session, and what it saves."""

    def __init__(self, folder: Path, *, rows: int, grouped: bool) -> None:
        self.folder = folder
        self.rows = rows
        self.grouped = grouped
        self.warehouse = str(folder / "warehouse")
        self.source = str(folder / "source")
        self.schema = _write_source(Path(self.source), rows)
        self.spark = arctic.local_session(
            master=MASTER,
            app_name="arctic saves",
            conf={
                "spark.log.level": "ERROR",
                "spark.ui.showConsoleProgress": "false",
                "spark.sql.files.minPartitionNum": str(FILES),
            },
        )
        self.report = Report(f"Saves of {rows:,} orders out of {FILES} files, {MASTER}")
        self._number = 0

    def measure(self, repeats: int) -> None:
        """Save in turns, and report."""
        raw = "Spark's Parquet"
        kinds: dict[str, tuple[str, Callable[[], None]]] = {
            raw: ("", lambda: self._raw(partitioned=False)),
            f"{raw}, partitioned": ("", lambda: self._raw(partitioned=True)),
            "overwrite": (raw, lambda: self._save("overwrite", [])),
            "upsert": (raw, lambda: self._save("upsert", [])),
            "overwrite, partitioned": (
                f"{raw}, partitioned",
                lambda: self._save("overwrite", [PARTITION]),
            ),
            "upsert, partitioned": (
                f"{raw}, partitioned",
                lambda: self._save("upsert", [PARTITION]),
            ),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for number in range(repeats + 1):
            for name, (_, save) in kinds.items():
                self.report.step(f"{name}, {number}")
                times = _timed(save)
                taken[name] += [times] if number else []
        for place, clock in enumerate(("elapsed", "processor")):
            medians = {
                name: statistics.median(each[place] for each in times)
                for name, times in taken.items()
            }
            for name, (limit, _) in kinds.items():
                self.report.add(
                    f"{name}: {clock} time",
                    medians[name],
                    rows=self.rows,
                    limit=medians.get(limit),
                    limit_name=limit,
                )

    def _frame(self) -> DataFrame:
        frame = self.spark.read.parquet(self.source)
        if not self.grouped:
            return frame
        others = [F.last(name).alias(name) for name in frame.columns if name != KEY]
        return frame.groupBy(KEY).agg(*others)

    def _raw(self, *, partitioned: bool) -> None:
        self._number += 1
        writer = self._frame().write.option("compression", "zstd")
        writer = writer.partitionBy(PARTITION) if partitioned else writer
        writer.parquet(str(self.folder / f"raw{self._number}"))

    def _save(self, mode: str, partition_by: list[str]) -> None:
        self._number += 1
        name = f"bench.t{self._number}"
        arctic.create_table(
            name,
            self.schema,
            primary_key=[*partition_by, KEY],
            partition_by=partition_by,
            warehouse=self.warehouse,
        )
        writer = self._frame().write.format("arctic").option("warehouse", self.warehouse)
        writer.mode(mode).save(name)


def _write_source(folder: Path, rows: int) -> pa.Schema:
    folder.mkdir()
    load = pa.concat_tables(widened(chunk) for chunk in base_rows(rows))
    numbers = np.random.default_rng(3).permutation(load.num_rows)
    for number, part in enumerate(np.array_split(numbers, FILES)):
        pq.write_table(load.take(pa.array(part)), folder / f"{number}.parquet", compression="zstd")
    fields = [field.with_nullable(field.name != PARTITION) for field in load.schema]
    return pa.schema(fields)


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    elapsed, processor = time.perf_counter(), _processor_seconds()
    work()
    return time.perf_counter() - elapsed, _processor_seconds() - processor


def _processor_seconds() -> float:
    """Return what this process and all that it has started have taken, ended ones included."""
    ticks = 0
    for pid in family_of(os.getpid()):
        try:
            after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(text) for text in after[11:15])
    return ticks / _TICKS


if __name__ == "__main__":
    sys.exit(main())
