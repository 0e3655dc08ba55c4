"""Very many tiny commits, without Spark: ``make bench-commits``.

Ten rows at a time are upserted into a table of four nodes on the embedded catalog, which is neither
optimized nor expired meanwhile; then all of it is read, before and after an optimize. The figure is
how much longer the last hundred upserts take than the first.

Then several threads upsert into one table, together as many batches as one thread does into
another; the figure is commits a second.

Then batches of ten rows of 23 columns are appended by Arctic, PyIceberg and DuckLake, and DuckDB
computes nine aggregates of what each of them has. DuckLake keeps such rows in its catalog, and
writes files of them later. Processor time is that of the whole process.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import arctic
from benchmarks.measure import Report, seconds
from benchmarks.orders import change_rows

ROWS = 10
SOME = 100
EVENTS = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("seen", pa.timestamp("us")),
        *(pa.field(f"count{n}", pa.int32()) for n in range(7)),
        *(pa.field(f"measure{n}", pa.float64()) for n in range(7)),
        *(pa.field(f"text{n}", pa.string()) for n in range(7)),
    ]
)
AGGREGATES = (
    "select count(*), min(id), max(id), min(seen), max(seen), sum(count0), avg(measure0), "
    "max(measure1), count(distinct text0) from events"
)
Take = Callable[[pa.Table], Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-commits", description=__doc__)
    parser.add_argument("--upserts", type=int, default=1_000, help="of ten rows each")
    parser.add_argument("--threads", type=int, default=8, help="that upsert at the same time")
    parser.add_argument("--shared", type=int, default=200, help="upserts of all threads together")
    parser.add_argument("--appends", type=int, default=1_000, help="of ten rows each, by each peer")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        report = Report(f"Commits of {ROWS} rows, without Spark")
        if given.upserts:
            measure_upserts(Path(folder), report, upserts=given.upserts)
        if given.shared:
            for threads in sorted({1, given.threads}):
                measure_threads(Path(folder), report, threads=threads, upserts=given.shared)
        if given.appends:
            measure_appends(Path(folder), report, appends=given.appends)
        report.show()
    return 0


def measure_upserts(folder: Path, report: Report, *, upserts: int) -> None:
    """Measure upserts into one table, and reads of it."""
    base = ROWS * upserts
    batches = [change_rows(base, ROWS, number=number) for number in range(upserts)]
    table = arctic.create_table(
        "bench.orders", batches[0].schema, primary_key="order_id", warehouse=str(folder)
    )
    report.step(f"{upserts:,} upserts")
    times = list(_each(batches, lambda rows: table.write(rows, mode="upsert")))
    some = min(SOME, upserts)
    for what, number in (("elapsed", 0), ("processor", 1)):
        first, last = (
            sum(each[number] for each in part) / some for part in (times[:some], times[-some:])
        )
        report.note(f"first {some} upserts: {what} ms each", f"{first * 1000:.1f}")
        report.note(
            f"last {some} of {upserts:,}: {what} ms each",
            f"{last * 1000:.1f} ({last / first:.2f}x)",
        )
    rows = table.count()
    processor = time.process_time()
    taken = seconds(lambda: table.read().read_all(), repeats=3)
    processor = (time.process_time() - processor) / 3
    report.add("read of all rows", taken, rows=rows)
    report.note("read of all rows: processor seconds", f"{processor:.2f}")
    report.add("optimize, in as many runs as it takes", seconds(lambda: _merge(table)), rows=rows)
    table.refresh()
    taken = seconds(lambda: table.read().read_all(), repeats=3)
    report.add("read of all rows, optimized", taken, rows=rows)


def _merge(table: arctic.Table) -> None:
    """Merge all changes: one run takes no more files than ``self-optimizing.max-file-count``."""
    while table.optimize(type="minor").files_waiting:
        pass


def measure_threads(folder: Path, report: Report, *, threads: int, upserts: int) -> None:
    """Measure upserts of several threads into one table."""
    each = max(1, upserts // threads)
    count = each * threads
    batches = [change_rows(ROWS * count, ROWS, number=number) for number in range(count)]
    name, warehouse = f"bench.shared{threads}", str(folder)
    arctic.create_table(name, batches[0].schema, primary_key="order_id", warehouse=warehouse)
    report.step(f"{count:,} upserts by {threads} threads")

    def upsert(thread: int) -> None:
        table = arctic.open_table(name, warehouse=warehouse)
        for batch in batches[thread::threads]:
            table.write(batch, mode="upsert")

    elapsed, processor = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(upsert, range(threads)))
    elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
    report.note(
        f"{count:,} upserts, {threads} threads: commits a second",
        f"{count / elapsed:.1f}; processor ms each {processor / count * 1000:.1f}",
    )


def measure_appends(folder: Path, report: Report, *, appends: int) -> None:
    """Measure appends by each peer, and aggregates of what it has."""
    random = np.random.default_rng(5)
    batches = [_events(random, number) for number in range(appends)]
    answers: dict[str, Any] = {}
    for name, (append, ask) in _peers(folder).items():
        report.step(f"{appends:,} appends by {name}")
        times = list(_each(batches, append))
        elapsed, processor = (sum(each[number] for each in times) for number in (0, 1))
        report.add(f"{name}: appends", elapsed, rows=ROWS * appends)
        report.note(f"{name}: appends, processor seconds", f"{processor:.2f}")
        started = time.process_time()
        report.add(f"{name}: aggregates", seconds(ask, repeats=3), rows=ROWS * appends)
        processor = (time.process_time() - started) / 3
        report.note(f"{name}: aggregates, processor seconds", f"{processor:.2f}")
        answers[name] = ask()
    if len({repr(answer) for answer in answers.values()}) > 1:
        raise SystemExit(f"the answers differ: {answers}")


def _peers(folder: Path) -> dict[str, tuple[Take, Callable[[], Any]]]:
    """Return how each takes rows, and how it answers."""
    table = arctic.create_table("bench.events", EVENTS, primary_key=(), warehouse=str(folder))
    found: dict[str, tuple[Take, Callable[[], Any]]] = {
        "Arctic": (
            lambda rows: table.write(rows, mode="append"),
            lambda: _asked(table.read(columns=_ASKED).read_all()),
        )
    }
    place = folder / "plain"
    place.mkdir()
    catalog = SqlCatalog("plain", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
    catalog.create_namespace("bench")
    plain = catalog.create_table("bench.events", EVENTS)
    found["PyIceberg"] = (
        plain.append,
        lambda: _asked(plain.scan(selected_fields=_ASKED).to_arrow()),
    )
    spec = importlib.util.find_spec("duckdb_extension_ducklake")
    if spec is None or spec.submodule_search_locations is None:
        return found
    (extension,) = Path(spec.submodule_search_locations[0]).rglob("*.duckdb_extension")
    lake = duckdb.connect(config={"autoload_known_extensions": "false"})
    lake.execute(f"LOAD '{extension}'")
    lake.execute(f"ATTACH 'ducklake:{folder}/lake.ducklake' AS lake (DATA_PATH '{folder}/lake/')")
    lake.execute("USE lake")
    empty = EVENTS.empty_table()
    lake.register("none", empty)
    lake.execute("CREATE TABLE events AS SELECT * FROM none")

    def insert(rows: pa.Table) -> None:
        lake.register("batch", rows)
        lake.execute("INSERT INTO events SELECT * FROM batch")

    found["DuckLake"] = (insert, lambda: _rounded(lake.execute(AGGREGATES).fetchone()))
    return found


_ASKED = ("id", "seen", "count0", "measure0", "measure1", "text0")


def _asked(events: pa.Table) -> Any:
    with duckdb.connect() as connection:
        connection.register("events", events)
        return _rounded(connection.execute(AGGREGATES).fetchone())


def _rounded(row: Any) -> Any:
    """Return an answer that does not depend on the order in which floats were added."""
    return tuple(round(value, 6) if isinstance(value, float) else value for value in row)


def _events(random: np.random.Generator, number: int) -> pa.Table:
    ids = np.arange(number * ROWS, (number + 1) * ROWS)
    columns = [
        pa.array(ids),
        pa.array(1_700_000_000_000_000 + ids * 1_000, EVENTS.field("seen").type),
    ]
    columns += [pa.array(random.integers(0, 1_000, ROWS).astype(np.int32)) for _ in range(7)]
    columns += [pa.array(random.random(ROWS)) for _ in range(7)]
    columns += [pa.array([f"text {n}" for n in random.integers(0, 99, ROWS)]) for _ in range(7)]
    return pa.Table.from_arrays(columns, schema=EVENTS)


def _each(batches: Sequence[pa.Table], take: Take) -> Iterator[tuple[float, float]]:
    """Hand over each batch, and yield its elapsed and processor time."""
    for rows in batches:
        elapsed, processor = time.perf_counter(), time.process_time()
        take(rows)
        yield time.perf_counter() - elapsed, time.process_time() - processor


if __name__ == "__main__":
    sys.exit(main())
