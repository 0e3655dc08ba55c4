"""Publishing beside the upsert that it follows: ``make bench-publish``.

Orders of twelve columns are loaded and merged, and published. Then one row of a hundred is upserted
by ``arctic.write``, and what a publish takes is compared with that: once where the process that
publishes is new to the table, and once more after several upserts. The limit is the upsert.

The data is made up and the same every time; figures of two commits compare only on the same quiet
machine, so read the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.orders import base_rows, change_rows
from benchmarks.peers.inputs import widened

TABLE = "bench.orders"
KEY = "order_id"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-publish", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the load")
    parser.add_argument("--repeats", type=int, default=5, help="upserts, each published")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        measure_publish(Path(folder), rows=given.rows, repeats=given.repeats)
    return 0


def measure_publish(folder: Path, *, rows: int, repeats: int) -> None:
    """Measure publishes after a load, after upserts of 1 %, and after a full optimize."""
    report = Report(f"publish: {rows:,} rows, upserts of {rows // 100:,}")
    place = str(folder)
    report.step("load")
    load = pa.concat_tables(widened(chunk) for chunk in base_rows(rows))
    options = {"primaryKey": KEY}
    arctic.write(TABLE, load, mode="upsert", options=options, warehouse=place)
    arctic.optimize(TABLE, type="full", warehouse=place)
    first = seconds(lambda: arctic.publish(TABLE, warehouse=place))
    upserts, publishes = [], []
    for number in range(repeats):
        report.step(f"upsert and publish {number + 1} of {repeats}")
        changes = widened(change_rows(rows, rows // 100, number=number))
        upserts.append(
            seconds(partial(arctic.write, TABLE, changes, mode="upsert", warehouse=place))
        )
        publishes.append(seconds(lambda: arctic.publish(TABLE, warehouse=place)))
    upsert = statistics.median(upserts)
    few = rows // 100
    report.add("upsert of 1 %", upsert, rows=few)
    report.add("first publish", first, rows=rows, limit=upsert, limit_name="upsert of 1 %")
    for what, taken in (
        ("publish after the first upsert", publishes[0]),
        ("publish after an upsert, median", statistics.median(publishes)),
        ("publish after the last upsert", publishes[-1]),
    ):
        report.add(what, taken, rows=few, limit=upsert, limit_name="upsert of 1 %")
    nothing = seconds(lambda: arctic.publish(TABLE, warehouse=place), repeats=3)
    report.add(
        "publish of nothing new", nothing, rows=few, limit=upsert, limit_name="upsert of 1 %"
    )
    full = seconds(lambda: arctic.optimize(TABLE, type="full", warehouse=place))
    after = seconds(lambda: arctic.publish(TABLE, warehouse=place))
    report.add("full optimize", full, rows=rows)
    report.add("publish after it", after, rows=rows, limit=full, limit_name="full optimize")
    report.show()


if __name__ == "__main__":
    sys.exit(main())
