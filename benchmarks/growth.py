"""A table that grows by upserts alone, without Spark: ``make bench-growth``.

Each upsert has one percent of the rows again and one percent more; what is due is optimized after
every tenth. At every tenfold size, always with nine upserts since, it is measured what an upsert, a
look-up of one key and a merged read of all rows take, against the size before too, and how many
nodes and files there are: for a table that divides its nodes by itself, and for one of four nodes.
The rows of both are compared in the end, by sums of their hashes: neither is ever in memory as a
whole.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
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
            found[name] = _digest(table)
        if found["auto"] != found["4 nodes"]:
            raise SystemExit(f"the tables differ: {found}")
    report.show()
    return 0


def _digest(table: arctic.Table) -> tuple[int, ...]:
    """Return what is the same for the same rows in any order."""
    names = ", ".join(SCHEMA.names)
    rows = duckdb.from_arrow(table.read())
    sums = rows.aggregate(f"count(*), sum(hash({names})::hugeint), bit_xor(hash({names}))")
    return tuple(sums.fetchall()[0])


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
    before: _Measured | None = None
    for number, rows in enumerate(_changes(begin, end), start=1):
        started = time.perf_counter()
        table.write(rows, mode="upsert")
        upserts.append(time.perf_counter() - started)
        size += max(1, size // 100)
        if number % _BETWEEN_RUNS == 0:
            runs += seconds(table.optimize)
        # Else one size would be read as it is after a run, and the next as it is before one.
        if size >= min(next_size, end) and number % _BETWEEN_RUNS == _BETWEEN_RUNS - 1:
            what = f"{name}, {size:,} rows"
            now = _measured(table, size=size, upserts=upserts)
            _show(what, now, before, report)
            report.note(f"{what}: runs of optimizing before, s", f"{runs:.1f}")
            report.note(f"{what}: nodes, files of base, all files", _files(table))
            next_size, upserts, runs, before = next_size * 10, [], 0.0, now


def _changes(begin: int, end: int) -> Iterator[pa.Table]:
    size, number = begin, 0
    while size < end or number % _BETWEEN_RUNS:
        random = np.random.default_rng(number)
        count = max(1, size // 100)
        # Without a permutation of all of them, which the largest sizes have no memory for.
        again = np.unique(random.integers(size, size=count))
        yield orders(np.concatenate([again, np.arange(size, size + count)]), random)
        size, number = size + count, number + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """Seconds at one size."""

    size: int
    upsert: float
    """For each of its rows."""
    look_up: float
    read: float
    """For each of the rows."""


def _measured(table: arctic.Table, *, size: int, upserts: Sequence[float]) -> _Measured:
    table.refresh()
    keys = np.random.default_rng(size).integers(size, size=_LOOK_UPS).tolist()
    taken = [seconds(table.read(filter=f"order_id = {key}").read_all, repeats=1) for key in keys]
    return _Measured(
        size=size,
        upsert=statistics.median(upserts[-_BETWEEN_RUNS:]) / max(1, size // 50),
        look_up=statistics.median(taken),
        read=seconds(lambda: _drained(table), repeats=3) / size,
    )


def _drained(table: arctic.Table) -> None:
    for _ in table.read():
        pass


def _show(what: str, now: _Measured, before: _Measured | None, report: Report) -> None:
    count = max(1, now.size // 50)
    limits = (None, None, None) if before is None else (before.upsert, before.look_up, before.read)
    name = "" if before is None else f"of {before.size:,} rows"
    for text, taken, rows, limit in (
        (f"an upsert of {count:,}, by the row", now.upsert, count, limits[0]),
        ("a look-up", now.look_up, 1, limits[1]),
        ("a read of all, by the row", now.read, now.size, limits[2]),
    ):
        each = rows if "by the row" in text else 1
        report.add(
            f"{what}: {text}",
            taken * each,
            rows=rows,
            limit=None if limit is None else limit * each,
            limit_name=name,
        )


def _files(table: arctic.Table) -> str:
    trees = NodeTrees.of(table.properties, is_keyed=True)
    files = [row for row in table.inspect("files").to_pylist() if not row["merged"]]
    base = sum(row["kind"] == "B" for row in files)
    return f"{len(trees.tree('').leaves):,}, {base:,}, {len(files):,}"


if __name__ == "__main__":
    sys.exit(main())
