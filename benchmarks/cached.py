"""Reads of the newest day, again and again, with a cache and without: ``make bench-cache``.

A table of days: each loaded and merged, the newest also changed by upserts that wait to be merged.
It lies on the local disk, and in an S3 server on which every request takes 20 ms. Point reads and
sums of the newest day are made by a process that knows the table, first and then repeatedly. What
the store was asked for is counted by the server, what came from where by the reads themselves.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import arctic
from benchmarks.requests.object_store import ObjectStore, object_store

DELAY_MS = 20
SCHEMA = pa.schema(
    [
        ("day", pa.date32()),
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("city", pa.string()),
        ("note", pa.string()),
    ]
)
_FIRST = date(2026, 1, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-cache", description=__doc__)
    parser.add_argument("--days", type=int, default=5)
    parser.add_argument("--rows", type=int, default=400_000, help="of a day")
    parser.add_argument("--upserts", type=int, default=10, help="into the newest day")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args(arguments)
    title = f"{given.days} days of {given.rows:,} rows, {given.upserts} upserts into the newest"
    shown = Table(title=title, title_justify="left")
    for name in ("where", "read of the newest day", "cache"):
        shown.add_column(name)
    for name in ("first ms", "median ms", "to none", "requests", "here KiB", "fetched KiB"):
        shown.add_column(name, justify="right")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder, object_store() as store:
        for where, place in (("local disk", None), (f"S3, {DELAY_MS} ms a request", store)):
            for line in _lines(Path(folder), place, given):
                shown.add_row(where, *line)
    Console(width=None if sys.stdout.isatty() else 160).print(shown)
    return 0


def _lines(
    folder: Path, store: ObjectStore | None, given: argparse.Namespace
) -> Iterator[tuple[str, ...]]:
    """Yield the lines of one place."""
    lake: dict[str, Any] = {"warehouse": str(folder / "lake")}
    if store is not None:
        lake = {"catalog": store.catalog(folder / "s3.db")}
    table = _made(lake, given)
    newest = f"day = date '{_day(given.days - 1)}'"
    reads: dict[str, tuple[str, list[str]]] = {
        "a row by its key": (f"{newest} and id = {given.rows // 3}", ["amount", "city", "note"]),
        "a sum by city": (newest, ["city", "amount"]),
    }
    for what, (condition, columns) in reads.items():
        none, rows = 0.0, None
        for cache in ("off", "memory", "disk"):
            options = {
                "read.cache": cache,
                "read.cache.local-files": "true",
                "read.cache.path": str(folder / f"{what} {store is None}"),
            }

            asked = {"columns": columns, "filter": condition, "options": options}
            read = partial(_sums, table, asked)
            with _delayed(store):
                first, found = _timed(read)
                again = [_timed(read) for _ in range(given.repeats)]
                requests = "" if store is None else str(_asked(store, read))
            rows = found if rows is None else rows
            if any(not each.equals(rows) for each in (found, *(each for _, each in again))):
                raise SystemExit(f"{what}: rows differ with the cache {cache}")
            median = statistics.median(taken for taken, _ in again)
            none = none or median
            here = _places(table.explain(**asked, analyze=True))
            yield (
                what,
                cache,
                f"{first * 1e3:.0f}",
                f"{median * 1e3:.1f}",
                f"{median / none:.2f}x",
                requests,
                *here,
            )


def _sums(table: arctic.Table, asked: Mapping[str, Any]) -> pa.Table:
    found = table.read(**asked).read_all()
    return found.group_by("city").aggregate([("amount", "sum")]).sort_by("city")


def _made(lake: Mapping[str, Any], given: argparse.Namespace) -> arctic.Table:
    table = arctic.create_table(
        "bench.sales", SCHEMA, primary_key=["day", "id"], partition_by=["day"], **lake
    )
    random = np.random.default_rng(1)
    for number in range(given.days):
        table.write(_rows(number, np.arange(given.rows), random), mode="upsert")
    table.optimize(type="full")
    for _ in range(given.upserts):
        changed = random.choice(given.rows, given.rows // 100, replace=False)
        table.write(_rows(given.days - 1, changed, random), mode="upsert")
    return table


def _rows(number: int, ids: Any, random: np.random.Generator) -> pa.Table:
    return pa.table(
        [
            pa.array([_day(number)] * len(ids), pa.date32()),
            pa.array(ids, pa.int64()),
            # Whole numbers: their sums are the same in any order.
            pa.array(random.integers(0, 10_000, len(ids)).astype(float)),
            pa.array(random.choice(["Rome", "Oslo", "Bern", "Kyiv"], len(ids))),
            pa.array([f"{each:020}" for each in random.integers(0, 2**62, len(ids))]),
        ],
        schema=SCHEMA,
    )


def _day(number: int) -> date:
    return _FIRST + timedelta(days=number)


@contextmanager
def _delayed(store: ObjectStore | None) -> Iterator[None]:
    if store is not None:
        store.delay(DELAY_MS)
    try:
        yield
    finally:
        if store is not None:
            store.delay(0)


def _asked(store: ObjectStore, read: Callable[[], Any]) -> int:
    store.asked()
    read()
    return len(store.asked())


def _timed(read: Callable[[], pa.Table]) -> tuple[float, pa.Table]:
    began = time.perf_counter()
    found = read()
    return time.perf_counter() - began, found


def _places(text: str) -> tuple[str, str]:
    """Return the KiB that a read says to have from here, and from where files lie."""
    found = re.search(r"kept +([\d,]+) bytes .*\n +fetched +([\d,]+) bytes", text)
    if found is None:
        return "", ""
    kept, fetched = (int(each.replace(",", "")) for each in found.groups())
    return f"{kept / 1024:,.0f}", f"{fetched / 1024:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
