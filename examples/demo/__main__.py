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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyspark

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

LAST_EVENTS_SHOWN = 5
NODE_COLUMNS = [
    "node_id",
    "base_files",
    "base_rows",
    "insert_files",
    "insert_rows",
    "change_delete_files",
    "change_delete_rows",
]
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of the year is replayed."""

    load: int
    """Weeks in the first load, from week 1 on."""
    weeks: int
    """The last week, upserted like every week after the load."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 when every comparison is equal."""
    extent = _extent(arguments)
    started = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="arctic-demo-") as folder:
        comparisons = _run(report, Path(folder), extent)
    equal = all(comparison.is_equal for comparison in comparisons)
    verdict = "Every row equals what DuckDB computes" if equal else "The table is WRONG"
    report.section(f"{verdict}. {time.monotonic() - started:.0f} s in all.")
    return 0 if equal else 1


def _extent(arguments: Sequence[str] | None) -> Extent:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--weeks", type=int, default=14, help="weeks of the year to replay (default: %(default)s)"
    )
    parser.add_argument(
        "--load", type=int, default=8, help="weeks in the first load (default: %(default)s)"
    )
    given = parser.parse_args(arguments)
    if not 1 <= given.load <= given.weeks - 2 <= LAST_WEEK - 2:
        parser.error(f"expected 1 <= LOAD <= WEEKS - 2 and WEEKS <= {LAST_WEEK}")
    return Extent(load=given.load, weeks=given.weeks)


def _run(report: Report, folder: Path, extent: Extent) -> list[Comparison]:
    source = source_path()
    report.section("A year of grocery promotions, upserted through PySpark")
    with report.doing("Spark started"):
        spark = arctic.local_session(app_name="arctic-demo", conf=_settings(folder))
    with report.doing(f"weeks 1-{extent.weeks} cut out of the year, a file each"):
        delivered = deliver(source, folder, weeks=extent.weeks)
    _introduce(report, delivered)
    replay = Replay(spark, folder / "warehouse")
    steps = _replay(report, replay, delivered, source, extent)
    report.section(
        "What each commit cost",
        "Seconds include everything: reading the delivered file, the shuffle by key, the commit.",
        "The first write starts Spark's Python workers too. 'table before' counts all data files.",
    )
    report.steps(steps)
    _show_one_key(report, replay, delivered)
    _show_plan(report, replay)
    comparisons = _compare(report, replay, source, extent)
    spark.stop()
    return comparisons


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.memory": "2g",
        "spark.local.dir": str(folder / "spark"),
        "spark.ui.showConsoleProgress": "false",
        # From the first line of the JVM on; spark.log.level would come too late.
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
    }


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


def _replay(
    report: Report, replay: Replay, delivered: Sequence[Week], source: Path, extent: Extent
) -> list[Step]:
    *earlier, last = delivered[extent.load :]
    report.section("The writes")
    steps = []
    with report.doing(f"weeks 1-{extent.load} loaded"):
        steps.append(replay.load(delivered[: extent.load]))
    for week in earlier:
        with report.doing(f"week {week.number} upserted"):
            steps.append(replay.upsert(week))
    gone = discontinued_products(source, after=extent.load)
    with report.doing(f"products never promoted again after week {extent.load} deleted"):
        steps.append(replay.delete(gone))
    _, key = busiest_key(delivered)
    with report.doing(f"one store's part of week {last.number} upserted"):
        steps.append(replay.upsert(last, only_store=key["store_id"]))
    with report.doing(f"the whole of week {last.number} upserted"):
        steps.append(replay.upsert(last))
    return steps


def _show_one_key(report: Report, replay: Replay, delivered: Sequence[Week]) -> None:
    events, key = busiest_key(delivered)
    report.section(
        f"One key: product {key['product_id']} in store {key['store_id']}",
        f"Its events as they were delivered, {events.num_rows} in all, the last ones:",
    )
    report.rows(events.slice(max(0, events.num_rows - LAST_EVENTS_SHOWN)))
    condition = " and ".join(f"{name} = {value}" for name, value in key.items())
    report.section(
        "What the table holds for it", f"spark.read.format('arctic')...where({condition!r})"
    )
    report.rows(replay.rows().where(condition).toArrow())


def _show_plan(report: Report, replay: Replay) -> None:
    report.section("Nodes: the keys by the last bits of their hash")
    report.rows(replay.table.inspect("nodes").select(NODE_COLUMNS))
    report.section("How a read of the whole table is planned, and the first of its tasks")
    plan = replay.table.explain().split("\n\n")
    report.text("\n\n".join(plan[:2]))


def _compare(report: Report, replay: Replay, source: Path, extent: Extent) -> list[Comparison]:
    report.section("The check")
    with report.doing("expected table computed by DuckDB from the raw file"):
        oracle = Oracle(source, weeks=extent.weeks, discontinued_after=extent.load)
    readings: dict[str, Callable[[], pa.Table]] = {
        "spark.read.format('arctic')": lambda: replay.rows().toArrow(),
        "arctic.read, without Spark": lambda: replay.table.read().read_all(),
    }
    comparisons = [_compared(report, oracle, *reading) for reading in readings.items()]
    report.section("Optimizing", str(replay.table.status().reason))
    with report.doing("everything folded into the base store (full)"):
        done = replay.optimize()
    report.text(str(done))
    for name, read in {
        "spark.read.format('arctic'), optimized": lambda: replay.rows().toArrow(),
        "base store alone, by PyIceberg": replay.base_by_pyiceberg,
    }.items():
        comparisons.append(_compared(report, oracle, name, read))
    report.section(
        f"All {oracle.row_count:,} rows, all columns, compared both ways (except all)",
        f"table {TABLE!r} against the raw file",
    )
    report.comparisons(comparisons)
    return comparisons


def _compared(
    report: Report, oracle: Oracle, reader: str, read: Callable[[], pa.Table]
) -> Comparison:
    with report.doing(f"whole table read by {reader}"):
        rows = read()
    return oracle.compare(reader, rows)


if __name__ == "__main__":
    sys.exit(main())
