"""What a small query costs through Spark, step by step, beside ``spark.read.parquet``.

Both read the same files, in turn, and each query is loaded, defined and planned anew. The rows of
the table are merged, so both run the same scan: what Arctic adds is in the first three steps.

``make bench-small-queries ARGS="--rows 1000000 --rounds 15 --upsert"``
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

import arctic
from arctic.spark.base.private_names import jvm_frame
from benchmarks.orders import SCHEMA, base_rows, change_rows

TABLE = "bench.orders"
STEPS = ("load", "define", "plan", "run")
WARM_UP = 3
CONF = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "4"}

Times = dict[str, list[float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print milliseconds of each step, their range, and what Arctic adds."""
    parser = argparse.ArgumentParser(prog="make bench-small-queries", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table")
    parser.add_argument("--rounds", type=int, default=15, help="after three that do not count")
    parser.add_argument(
        "--upsert", action="store_true", help="leave 1,000 rows unmerged, which Parquet has not"
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-small-") as folder:
        _measure(Path(folder), rows=given.rows, rounds=given.rounds, upsert=given.upsert)
    return 0


def _measure(folder: Path, *, rows: int, rounds: int, upsert: bool) -> None:
    warehouse = str(folder / "warehouse")
    arctic.create_table(TABLE, SCHEMA, primary_key=["order_id"], warehouse=warehouse)
    data = pa.concat_tables(base_rows(rows))
    arctic.write(TABLE, data, mode="overwrite", warehouse=warehouse)
    files = arctic.open_table(TABLE, warehouse=warehouse).inspect("files").column("path")
    paths = [path.removeprefix("file://") for path in files.to_pylist()]
    if upsert:
        changes = change_rows(rows, 1_000, number=0)
        arctic.write(TABLE, changes, mode="upsert", warehouse=warehouse)
    conf = {**CONF, "spark.sql.catalog.arctic.warehouse": warehouse}
    spark = arctic.local_session(master="local[2]", app_name="small queries", conf=conf)
    tables: dict[str, Callable[[], DataFrame]] = {
        "arctic": lambda: spark.read.format("arctic").option("warehouse", warehouse).load(TABLE),
        "arctic, by name": lambda: spark.table(f"arctic.{TABLE}"),
        "parquet": lambda: spark.read.parquet(*paths),
    }
    footers = sum(pq.read_metadata(path).num_rows for path in paths)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(f"{footers:,} rows in {len(paths)} files, Spark {spark.version}, {rounds} rounds")
    shown = Table("query", "of", *STEPS, "first three", "all", title="milliseconds (least..most)")
    for query, define in _queries(rows).items():
        taken = _rounds(tables, define, rounds)
        for name, times in taken.items():
            shown.add_row(query, name, *[_shown(times[step]) for step in STEPS], *_sums(times))
        for name in tables:
            if name != "parquet":
                shown.add_row(query, f"{name} - parquet", *_added(taken[name], taken["parquet"]))
    console.print(shown)
    spark.stop()


def _queries(rows: int) -> dict[str, Callable[[DataFrame], DataFrame]]:
    low, high = rows // 3, rows // 3 + rows // 100
    return {
        "group-by": lambda frame: frame.groupBy("region", "status").agg({"amount": "sum"}),
        "1 % range": lambda frame: frame.where(f"order_id >= {low} AND order_id < {high}"),
        "one key": lambda frame: frame.where(f"order_id = {rows // 2}"),
        "sum": lambda frame: frame.selectExpr("sum(amount)"),
    }


def _rounds(
    tables: dict[str, Callable[[], DataFrame]],
    define: Callable[[DataFrame], DataFrame],
    rounds: int,
) -> dict[str, Times]:
    taken: dict[str, Times] = {name: {step: [] for step in STEPS} for name in tables}
    for number in range(WARM_UP + rounds):
        for name, load in tables.items():
            marks = [time.perf_counter()]
            frame = load()
            marks.append(time.perf_counter())
            asked = define(frame)
            marks.append(time.perf_counter())
            jvm_frame(asked).queryExecution().executedPlan()
            marks.append(time.perf_counter())
            asked.collect()
            marks.append(time.perf_counter())
            if number < WARM_UP:
                continue
            for step, began, ended in zip(STEPS, marks[:-1], marks[1:], strict=True):
                taken[name][step].append((ended - began) * 1_000)
    return taken


def _shown(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.0f} ({min(times):.0f}..{max(times):.0f})"


def _sums(times: Times) -> list[str]:
    return [_shown(_total(times, STEPS[:3])), _shown(_total(times, STEPS))]


def _added(ours: Times, theirs: Times) -> list[str]:
    parts = [*((step,) for step in STEPS), STEPS[:3], STEPS]
    return [
        f"{statistics.median(_total(ours, part)) - statistics.median(_total(theirs, part)):+.0f}"
        for part in parts
    ]


def _total(times: Times, steps: Sequence[str]) -> list[float]:
    return [sum(each) for each in zip(*(times[step] for step in steps), strict=True)]


if __name__ == "__main__":
    sys.exit(main())
