"""Measure streams into tables beside the same stream into plain Parquet: ``make bench-streaming``.

Each stream reads the same files, one a batch. A figure is the median of the batches but the first
two, in which code is compiled and sizes of partitions are learnt.

With ``--only optimize`` a stream runs beside a service that merges what it writes, and without any
optimizing: what that costs a batch is the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.streaming_optimize import measure_optimizing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMESPACE = "bench"
PARTITIONS = 8
HOT_SHARE = 0.8
WARM_UP_BATCHES = 2
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("region", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("amount", pa.float64()),
        pa.field("quantity", pa.int32()),
        pa.field("note", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One stream to measure."""

    title: str
    skewed: bool = False
    key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    mode: str = "append"


_PLACE = ("region",)
_KEY = ("id", "region")
STREAMS = (
    Stream(title="append, no key"),
    Stream(title="append to a keyed table", key=("id",)),
    Stream(title="upsert", key=("id",), mode="upsert"),
    Stream(title="append, no key, partitions, uniform", partition_by=_PLACE),
    Stream(title="append, no key, partitions, skewed", partition_by=_PLACE, skewed=True),
    Stream(title="upsert, partitions, uniform", key=_KEY, mode="upsert", partition_by=_PLACE),
    Stream(
        title="upsert, partitions, skewed",
        key=_KEY,
        mode="upsert",
        partition_by=_PLACE,
        skewed=True,
    ),
)


def events(count: int, *, number: int, skewed: bool) -> pa.Table:
    """Return the rows of one batch: half of the keys are those of the batch before."""
    draw = np.random.default_rng(number)
    ids = number * count // 2 + np.arange(count, dtype=np.int64)
    mixed = (ids * 2_654_435_761 >> 9) % 1_000_003
    codes = mixed % PARTITIONS
    if skewed:
        codes = np.where(mixed % 100 < HOT_SHARE * 100, 0, codes)
    names = np.array([f"region-{code}" for code in range(PARTITIONS)])
    columns = [
        ids,
        names[codes],
        1_700_000_000_000_000 + ids * 1_000,
        draw.random(count).round(4),
        draw.integers(1, 100, count).astype(np.int32),
        np.char.add("note ", draw.integers(0, 10_000, count).astype(str)),
    ]
    return pa.table([pa.array(each) for each in columns[:2]] + [
        pa.array(columns[2], SCHEMA.field("at").type), *map(pa.array, columns[3:])
    ], schema=SCHEMA)  # fmt: skip


class StreamingRun:
    """One run in a folder of its own."""

    schema = SCHEMA

    def __init__(self, folder: Path, *, rows: int, batches: int) -> None:
        self.folder = folder
        self.batches = batches
        self.batch_rows = rows // batches
        self.warehouse = str(folder / "warehouse")
        self.report = Report(f"streams of {rows:,} events, {self.batch_rows:,} a batch, local[2]")
        self.spark = arctic.local_session(
            master="local[2]",
            app_name="arctic streaming benchmark",
            conf={"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"},
        )
        self.taken: dict[str, float] = {}

    def generate(self) -> None:
        """Write the batches as files."""
        for skewed in (False, True):
            folder = self.folder / f"events-{skewed}"
            folder.mkdir()
            for number in range(self.batches):
                rows = events(self.batch_rows, number=number, skewed=skewed)
                pq.write_table(rows, folder / f"{number:04d}.parquet")

    def raw(self, *, partitioned: bool) -> float:
        """Append every batch to plain Parquet."""
        target = str(self.folder / f"raw-{partitioned}")

        def save(frame: DataFrame, _: int) -> None:
            writer = frame.write.mode("append")
            (writer.partitionBy("region") if partitioned else writer).parquet(target)

        return self._median(self.drained(False, f"raw-{partitioned}", lambda w: w.foreachBatch(
            save).start()))  # fmt: skip

    def stream(self, stream: Stream, number: int, *, raw: float, raw_title: str) -> None:
        """Write every batch into a table."""
        name = f"{NAMESPACE}.t{number}"
        arctic.create_table(
            name,
            SCHEMA,
            primary_key=stream.key,
            partition_by=stream.partition_by,
            warehouse=self.warehouse,
        )
        self.report.step(stream.title)
        progress = self.drained(
            stream.skewed,
            f"t{number}",
            lambda writer: (
                writer.format("arctic")
                .option("warehouse", self.warehouse)
                .option("write-mode", stream.mode)
                .start(name)
            ),
        )
        taken = self._median(progress)
        self.taken[stream.title] = taken
        self.report.add(stream.title, taken, rows=self.batch_rows, limit=raw, limit_name=raw_title)
        snapshots = arctic.open_table(name, warehouse=self.warehouse).inspect("snapshots")
        files = arctic.open_table(name, warehouse=self.warehouse).inspect("files").num_rows
        self.report.note("  files a batch", f"{files / self.batches:.1f}")
        self._freshness(name, progress, snapshots.to_pylist())

    def skew(self) -> None:
        """Say what skew costs."""
        for title, taken in self.taken.items():
            uniform = title.replace("skewed", "uniform")
            if uniform != title:
                ratio = taken / self.taken[uniform]
                self.report.note(f"{title} / uniform", f"{ratio:.2f}x (target: at most 1.3x)")

    def _freshness(self, name: str, progress: Sequence[Any], snapshots: list[Any]) -> None:
        landed = {
            int(dict(each["summary"])["arctic.stream-batch-id"]): each["committed_at"]
            for each in snapshots
        }
        waits = [
            (landed[each["batchId"]] - _moment(each["timestamp"])).total_seconds()
            for each in progress
            if each["batchId"] in landed
        ]
        visible = seconds(
            lambda: arctic.open_table(name, warehouse=self.warehouse).explain(), repeats=5
        )
        self.report.note("  batch begun to committed", f"{statistics.median(waits):.2f} s")
        self.report.note("  committed to planned by a reader", f"{visible * 1000:.0f} ms")

    def drained(self, skewed: bool, name: str, start: Callable[[Any], Any]) -> list[Any]:
        """Stream every file, and return what is told of each batch."""
        source = self.spark.readStream.schema(self._spark_schema()).option("maxFilesPerTrigger", 1)
        writer = source.parquet(str(self.folder / f"events-{skewed}")).writeStream
        writer = writer.option("checkpointLocation", str(self.folder / f"checkpoint-{name}"))
        query = start(writer.trigger(availableNow=True))
        query.awaitTermination()
        return [each for each in query.recentProgress if each["numInputRows"]]

    def batch_seconds(self, progress: Sequence[Any]) -> list[float]:
        """Return how long each batch took, but the first ones."""
        taken: list[float] = [each["durationMs"]["addBatch"] / 1000 for each in progress]
        return taken[WARM_UP_BATCHES:] or taken

    def _median(self, progress: Sequence[Any]) -> float:
        return statistics.median(self.batch_seconds(progress))

    def _spark_schema(self) -> Any:
        path = str(self.folder / "events-False" / "0000.parquet")
        return self.spark.read.parquet(path).schema


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table of figures."""
    parser = argparse.ArgumentParser(prog="make bench-streaming", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="events of each stream")
    parser.add_argument("--batches", type=int, default=10, help="into which they are cut")
    parser.add_argument(
        "--only",
        choices=("optimize",),
        help="optimize: beside a service that merges, and without; say --batches 60",
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        run = StreamingRun(Path(folder), rows=given.rows, batches=given.batches)
        run.generate()
        if given.only == "optimize":
            measure_optimizing(run)
        for partitioned in () if given.only else (False, True):
            title = f"Parquet append, {'partitioned' if partitioned else 'one folder'}"
            run.report.step(title)
            raw = run.raw(partitioned=partitioned)
            run.report.add(title, raw, rows=run.batch_rows)
            for number, stream in enumerate(STREAMS):
                if bool(stream.partition_by) is partitioned:
                    run.stream(stream, number, raw=raw, raw_title=title)
        run.skew()
        run.report.show()
        run.spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
