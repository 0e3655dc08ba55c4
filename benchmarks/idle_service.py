"""A service that has nothing to do, over many tables: ``make bench-serve``.

Small tables are made in an embedded catalog. A service with its default settings looks at them, and
says of each what a cleaning would remove. Then nothing happens any more, and what that costs is
counted in seconds of CPU of the service: standing still, a look at the catalog, the cleaning of a
table. An hour is what its defaults make of them, so that none has to be waited for.

The overview is what a browser asks for, drawn from all tables.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence

import pyarrow as pa

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.served import ServedLake, served

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("amount", pa.float64())])
NAMESPACES = 10
INTERVAL_SECONDS, CLEAN_EVERY_HOURS = 180, 24
"""The defaults of ``arctic serve``."""
HOUR_SECONDS = 3_600
MOST_CPU_SECONDS, MOST_PAGE_SECONDS = 60, 2


def make_tables(warehouse: str, count: int) -> None:
    """Make tables of a few rows, in several namespaces."""
    rows = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"], "amount": [1.0, 2.0]}, schema=SCHEMA)
    for number in range(count):
        name = f"bench{number % NAMESPACES}.t{number:05}"
        made = arctic.create_table(name, SCHEMA, primary_key=["id"], warehouse=warehouse)
        made.write(rows, mode="upsert")


def measure_idle(warehouse: str, *, tables: int, still_seconds: float, looks: int) -> Report:
    """Measure a service over tables that nobody changes."""
    report = Report(f"a service of {tables:,} tables that nobody changes")
    report.step(f"{tables:,} tables")
    made = seconds(lambda: make_tables(warehouse, tables)) / tables
    report.note("a table is made and written", f"{made:.3f} s")
    with served(warehouse) as service:
        report.step("the first look")
        began = time.perf_counter()
        service.wait_for("found", tables)
        report.note("first look", f"{time.perf_counter() - began:.1f} s")
        report.note("  of CPU, with the start", f"{(first := service.cpu_seconds()):.1f} s")
        report.step("what a cleaning would remove")
        service.wait_for("would clean", tables)
        cleaned = (service.cpu_seconds() - first) / tables
        report.step("nothing, and looks")
        service.look()  # It sees what the cleaning noted in each table.
        hour = {
            "standing still": _used(service, still_seconds) / still_seconds * HOUR_SECONDS,
            "looks": _looks(service, looks) * HOUR_SECONDS / INTERVAL_SECONDS,
            "cleaning": cleaned * tables / CLEAN_EVERY_HOURS,
        }
        for what, used in hour.items():
            report.note(f"CPU an hour: {what}", f"{used:.1f} s")
        total = sum(hour.values())
        report.note("CPU an hour", f"{total:.1f} s (target: below {MOST_CPU_SECONDS})")
        page = statistics.median([seconds(lambda: service.call("GET", "/")) for _ in range(5)])
        report.note("overview page", f"{page:.2f} s (target: below {MOST_PAGE_SECONDS})")
        report.note("  its size", f"{len(service.call('GET', '/')) / 1024:,.0f} KiB")
        report.note("memory of the service", f"{service.rss_bytes() / 2**20:,.0f} MiB")
    return report


def _used(service: ServedLake, for_seconds: float) -> float:
    before = service.cpu_seconds()
    time.sleep(for_seconds)
    return service.cpu_seconds() - before


def _looks(service: ServedLake, count: int) -> float:
    """Return the CPU seconds of a look; those of the calls are among them."""
    before = service.cpu_seconds()
    for _ in range(count):
        service.look()
    return (service.cpu_seconds() - before) / count


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table of figures."""
    parser = argparse.ArgumentParser(prog="make bench-serve", description=__doc__)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--still-seconds", type=float, default=30.0, help="that nothing happens")
    parser.add_argument("--looks", type=int, default=20, help="that are counted")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        measure_idle(
            folder, tables=given.tables, still_seconds=given.still_seconds, looks=given.looks
        ).show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
