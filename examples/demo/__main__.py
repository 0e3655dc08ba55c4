"""Replay weeks of real grocery promotions through PySpark, and prove the result with DuckDB.

Run it with ``make demo``; ``make demo ARGS="--weeks 53"`` replays the whole year.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import arctic
from examples.demo.check import Comparison, Oracle
from examples.demo.promotions import (
    KEY,
    LAST_WEEK,
    Week,
    busiest_key,
    deliver,
    discontinued_products,
    source_path,
)
from examples.demo.replay import TABLE, Replay, Step
from examples.demo.report import Report

FIRST_LOAD_WEEKS = 8
LAST_EVENTS_SHOWN = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 when every comparison is equal."""
    weeks = _weeks(arguments)
    started = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="arctic-demo-") as folder:
        comparisons = _run(report, Path(folder), weeks=weeks)
    equal = all(comparison.is_equal for comparison in comparisons)
    verdict = "Every row equals what DuckDB computes" if equal else "The table is WRONG"
    report.section(f"{verdict}. {time.monotonic() - started:.0f} s in all.")
    return 0 if equal else 1


def _weeks(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--weeks",
        type=int,
        default=14,
        choices=range(FIRST_LOAD_WEEKS + 2, LAST_WEEK + 1),
        metavar=f"{FIRST_LOAD_WEEKS + 2}..{LAST_WEEK}",
        help="how many weeks of the year to replay (default: %(default)s)",
    )
    weeks: int = parser.parse_args(arguments).weeks
    return weeks


def _run(report: Report, folder: Path, *, weeks: int) -> list[Comparison]:
    source = source_path()
    report.section("A year of grocery promotions, upserted through PySpark")
    with report.doing("Spark started"):
        spark = _spark(folder)
    with report.doing(f"weeks 1-{weeks} cut out of the year, a file each"):
        delivered = deliver(source, folder, weeks=weeks)
    _introduce(report, delivered)
    replay = Replay(spark, folder / "warehouse")
    steps = _replay(report, replay, delivered, source)
    report.section(
        "What each commit cost",
        "Seconds include reading the delivered file and the shuffle by key. 'of the table' is what",
        "the commit wrote, measured against all data files that were there before it.",
    )
    report.steps(steps)
    _show_one_key(report, replay, delivered)
    _show_plan(report, replay)
    comparisons = _compare(report, replay, source, weeks=weeks)
    spark.stop()
    return comparisons


def _spark(folder: Path) -> SparkSession:
    # Workers must run this interpreter, not whichever `python3` comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[*]")
        .appName("arctic-demo")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", str(folder / "spark"))
        .getOrCreate()
    )
    arctic.register(spark)
    return spark


def _introduce(report: Report, delivered: Sequence[Week]) -> None:
    count = sum(week.event_count for week in delivered)
    report.section(
        "The data",
        f"{count:,} of 20,940,529 events: weeks 1 to {len(delivered)} of {LAST_WEEK}.",
        f"Key: {', '.join(KEY)}. An event says where a store displays the product, and where",
        "the product stands in its mailer.",
        f"Python {platform.python_version()}, PySpark {pyspark.__version__}, "
        f"{os.cpu_count()} cores.",
    )


def _replay(report: Report, replay: Replay, delivered: Sequence[Week], source: Path) -> list[Step]:
    *earlier, last = delivered[FIRST_LOAD_WEEKS:]
    report.section("The writes")
    steps = []
    with report.doing(f"weeks 1-{FIRST_LOAD_WEEKS} loaded"):
        steps.append(replay.load(delivered[:FIRST_LOAD_WEEKS]))
    for week in earlier:
        with report.doing(f"week {week.number} upserted"):
            steps.append(replay.upsert(week))
    gone = discontinued_products(source, after=FIRST_LOAD_WEEKS)
    with report.doing(f"products never promoted again after week {FIRST_LOAD_WEEKS} deleted"):
        steps.append(replay.delete(gone))
    with report.doing(f"week {last.number} upserted"):
        steps.append(replay.upsert(last))
    return steps


def _show_one_key(report: Report, replay: Replay, delivered: Sequence[Week]) -> None:
    events, key = busiest_key(delivered)
    report.section(
        f"One key: product {key['product_id']} in store {key['store_id']}",
        f"The last {LAST_EVENTS_SHOWN} of its {events.num_rows} events, as they were delivered:",
    )
    report.rows(events.slice(max(0, events.num_rows - LAST_EVENTS_SHOWN)))
    condition = " and ".join(f"{name} = {value}" for name, value in key.items())
    report.section(
        "What the table holds for it", f"spark.read.format('arctic')...where({condition!r})"
    )
    report.rows(replay.rows().where(condition).toArrow())


def _show_plan(report: Report, replay: Replay) -> None:
    report.section("Nodes: the keys by the last bits of their hash")
    report.rows(replay.table.inspect("nodes"))
    report.section("How a read of the whole table is planned")
    report.text(replay.table.explain())


def _compare(report: Report, replay: Replay, source: Path, *, weeks: int) -> list[Comparison]:
    report.section("The check")
    with report.doing("expected table computed by DuckDB from the raw file"):
        oracle = Oracle(source, weeks=weeks, discontinued_after=FIRST_LOAD_WEEKS)
    readings = {
        "spark.read.format('arctic')": lambda: replay.rows().toArrow(),
        "arctic.read, without Spark": lambda: replay.table.read().read_all(),
    }
    comparisons = []
    for reader, read in readings.items():
        with report.doing(f"whole table read by {reader}"):
            rows: pa.Table = read()
        comparisons.append(oracle.compare(reader, rows))
    report.section(
        f"All {oracle.row_count:,} rows, all columns, compared both ways (except all)",
        f"table {TABLE!r} against the raw file",
    )
    report.comparisons(comparisons)
    return comparisons


if __name__ == "__main__":
    sys.exit(main())
