"""Writing beside the raw limit: ``make bench-write``.

Orders of twelve columns are loaded into a table of four nodes and upserted, by ``arctic.write`` and
by single tasks that get their rows as Spark delivers them: of one node, sorted, in short batches.
The limit is ``pyarrow.parquet.write_table`` of the same rows with the same compression, on as many
threads: one for a task, and for ``arctic.write`` one for each core, each with a file of its own.
Processor time is measured beside elapsed time, because other programs do not change it much.

The data is made up and the same every time; figures of two commits compare only on the same quiet
machine, so read the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import arctic
from arctic import options as opt
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import abort_write
from arctic.job.write.plan_shuffle import spread_job
from arctic.job.write.shuffle import ARRIVAL_COLUMN, TASK_COLUMN
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task
from arctic.tree.hash_arrays import hash_arrays
from benchmarks.measure import Report
from benchmarks.orders import base_rows, change_rows
from benchmarks.peers.inputs import widened

TABLE = "bench.orders"
KEY = "order_id"
SPARK_BATCH_ROWS = 10_000
NODES = 4
MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What some work took, in seconds."""

    elapsed: float
    processor: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-write", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the load")
    parser.add_argument("--changes", type=int, default=200_000, help="rows of an upsert")
    parser.add_argument("--repeats", type=int, default=5, help="medians are taken of so many")
    parser.add_argument("--property", action="append", default=[], help="of the table: NAME=TEXT")
    given = parser.parse_args(arguments)
    properties = dict(item.split("=", 1) for item in given.property)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        run = WriteRun(Path(folder), properties, repeats=given.repeats)
        load = pa.concat_tables(widened(chunk) for chunk in base_rows(given.rows))
        changes = widened(change_rows(given.rows, given.changes, number=0))
        shuffled = load.take(pa.array(np.random.default_rng(3).permutation(load.num_rows)))
        run.whole("load", load, "overwrite")
        run.whole("load of shuffled rows", shuffled, "overwrite")
        run.whole("upsert", changes, "upsert")
        run.task("task of a load", load, "overwrite")
        run.task("task of an upsert", changes, "upsert")
        run.report.show()
    return 0


class WriteRun:
    """One table in a folder of its own."""

    def __init__(self, folder: Path, properties: dict[str, str], *, repeats: int) -> None:
        self.folder = folder
        self.repeats = repeats
        self.cores = opt.default_parallelism()
        few = widened(next(base_rows(1_000)))
        self.table = arctic.create_table(
            TABLE, few.schema, primary_key=[KEY], properties=properties, warehouse=str(folder)
        )
        for mode in ("overwrite", "upsert"):
            self.table.write(few, mode=mode)
        self.report = Report(f"Writing {len(few.schema)} columns, {self.cores} cores")
        self._numbers = count()

    def whole(self, what: str, rows: pa.Table, mode: str) -> None:
        """Write rows into the table with all cores."""
        written: list[arctic.WriteReport] = []
        self._compare(
            what,
            rows,
            lambda: written.append(self.table.write(rows, mode=mode)),
            threads=self.cores,
            written_bytes=lambda: written[-1].bytes,
        )

    def task(self, what: str, rows: pa.Table, mode: str) -> None:
        """Write the rows of one node in one thread, without a commit."""
        nodes = hash_arrays([rows.column(KEY)], ["long"]) % NODES
        numbers = np.flatnonzero(nodes == 0)
        numbers = numbers[np.argsort(rows.column(KEY).to_numpy()[numbers])]
        routed = rows.take(pa.array(numbers)).combine_chunks()
        helped = routed.append_column(TASK_COLUMN, pa.array(np.zeros(len(numbers), np.int32)))
        arrival = numbers if mode == "overwrite" else np.arange(len(numbers))
        helped = helped.append_column(ARRIVAL_COLUMN, pa.array(arrival))
        options = {"path": TABLE, "warehouse": str(self.folder), "write-mode": mode}
        job = begin_write(AskedWrite.of(options), routed.schema)
        job = spread_job(job, helped.schema, deep_nodes={})
        sizes: list[int] = []

        def write() -> None:
            batches = helped.to_batches(max_chunksize=SPARK_BATCH_ROWS)
            result = write_task(job.work, batches, partition_id=next(self._numbers), task_id=0)
            sizes.append(sum(file.size_bytes for file in result.files))
            abort_write(job, [result])

        self._compare(what, routed, write, threads=1, written_bytes=lambda: sizes[-1])

    def _compare(
        self,
        what: str,
        rows: pa.Table,
        work: Callable[[], Any],
        *,
        threads: int,
        written_bytes: Callable[[], int],
    ) -> None:
        self.report.step(f"{what}: {rows.num_rows:,} rows")
        limits, times = [], []
        for _ in range(self.repeats):  # by turns, so that both meet the same machine
            limits.append(_timed(lambda: self._write_raw(rows, threads)))
            times.append(_timed(work))
        for name in ("elapsed", "processor"):
            limit, taken = (_median(some, name) for some in (limits, times))
            self.report.add(
                f"{what}: {name} time",
                taken,
                rows=rows.num_rows,
                limit=limit,
                limit_name=f"pyarrow.parquet.write_table, {threads} thread(s)",
            )
        raw_bytes = sum(path.stat().st_size for path in self.folder.glob("raw*.parquet"))
        share = written_bytes() / raw_bytes
        self.report.note(f"{what}: written", f"{written_bytes() / MIB:.1f} MiB ({share:.2f}x)")

    def _write_raw(self, rows: pa.Table, threads: int) -> None:
        for path in self.folder.glob("raw*.parquet"):
            path.unlink()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(self._write_part, enumerate(_parts(rows, threads))))

    def _write_part(self, part: tuple[int, pa.Table]) -> None:
        number, rows = part
        pq.write_table(rows, self.folder / f"raw{number}.parquet", compression="zstd")


def _parts(rows: pa.Table, number: int) -> Iterator[pa.Table]:
    step = -(-rows.num_rows // number)
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def _timed(work: Callable[[], Any]) -> Times:
    elapsed, processor = time.perf_counter(), time.process_time()
    work()
    return Times(elapsed=time.perf_counter() - elapsed, processor=time.process_time() - processor)


def _median(times: Sequence[Times], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in times))


if __name__ == "__main__":
    sys.exit(main())
