"""A table that grows by upserts alone, without Spark: ``make bench-growth``.

Each upsert has one percent of the rows again and one percent more; what is due is optimized after
every tenth. At every tenfold size it is measured what an upsert, a look-up of one key and a merged
read of all rows take, and how many nodes and files there are: for a table that divides its nodes by
itself, and for one of four nodes. The rows of both are compared in the end.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

import arctic
from arctic.table.node_trees import NodeTrees
from benchmarks.measure import Report, seconds
from benchmarks.orders import SCHEMA, base_rows, orders

_BETWEEN_RUNS = 10
_LOOK_UPS = 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-growth", description=__doc__)
    parser.add_argument("--begin", type=int, default=1_000, help="rows at first")
    parser.add_argument("--rows", type=int, default=100_000, help="rows in the end")
    parser.add_argument("--target-mib", type=float, default=0.03, help="target size of files")
    given = parser.parse_args(arguments)
    report = Report(f"{given.begin:,} rows become {given.rows:,}")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        found = {}
        for name, count in (("auto", None), ("4 nodes", 4)):
            report.step(f"a table of {name}")
            table = _created(Path(folder), count, int(given.target_mib * 2**20))
            _grow(table, name, report, begin=given.begin, end=given.rows)
            found[name] = table.read().read_all().sort_by("order_id")
        if not found["auto"].equals(found["4 nodes"]):
            raise SystemExit("the tables differ")
    report.show()
    return 0


def _created(folder: Path, count: int | None, target_bytes: int) -> arctic.Table:
    properties = {
        "self-optimizing.target-size": str(target_bytes),
        "self-optimizing.min-plan-interval": "0",
    }
    if count is not None:
        properties["base.file-index.hash-bucket"] = str(count)
    return arctic.create_table(
        f"bench.of_{count}",
        SCHEMA,
        primary_key="order_id",
        properties=properties,
        warehouse=str(folder),
    )


def _grow(table: arctic.Table, name: str, report: Report, *, begin: int, end: int) -> None:
    for rows in base_rows(begin):
        table.write(rows, mode="upsert")
    table.optimize()
    size, next_size, upserts, runs = begin, begin * 10, [], 0.0
    for number, rows in enumerate(_changes(begin, end), start=1):
        started = time.perf_counter()
        table.write(rows, mode="upsert")
        upserts.append(time.perf_counter() - started)
        size += rows.num_rows // 2
        if number % _BETWEEN_RUNS == 0:
            runs += seconds(table.optimize)
        if size >= min(next_size, end):
            _measure(table, name, report, size=size, upserts=upserts, runs=runs)
            next_size, upserts, runs = next_size * 10, [], 0.0


def _changes(begin: int, end: int) -> Iterator[pa.Table]:
    size, number = begin, 0
    while size < end:
        random = np.random.default_rng(number)
        count = max(1, size // 100)
        again = random.choice(size, count, replace=False)
        yield orders(np.concatenate([again, np.arange(size, size + count)]), random)
        size, number = size + count, number + 1


def _measure(
    table: arctic.Table,
    name: str,
    report: Report,
    *,
    size: int,
    upserts: Sequence[float],
    runs: float,
) -> None:
    table.refresh()
    what = f"{name}, {size:,} rows"
    last = upserts[-_BETWEEN_RUNS:]
    report.add(
        f"{what}: an upsert of {size // 50:,}", statistics.median(last), rows=size // 50 or 1
    )
    keys = np.random.default_rng(size).integers(size, size=_LOOK_UPS).tolist()
    taken = [
        seconds(table.read(filter=f"order_id = {key}").read_all, repeats=1) * 1_000 for key in keys
    ]
    report.note(f"{what}: a look-up, ms", f"{statistics.median(taken):.1f}")
    report.add(
        f"{what}: a read of all", seconds(lambda: table.read().read_all(), repeats=3), rows=size
    )
    report.note(f"{what}: runs of optimizing before, s", f"{runs:.1f}")
    trees = NodeTrees.of(table.properties, is_keyed=True)
    files = [row for row in table.inspect("files").to_pylist() if not row["merged"]]
    report.note(
        f"{what}: nodes, files of base, all files",
        f"{len(trees.tree('').leaves):,}, {sum(row['kind'] == 'B' for row in files):,}, "
        f"{len(files):,}",
    )


if __name__ == "__main__":
    sys.exit(main())
