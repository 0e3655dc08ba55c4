"""Refreshes of views beside computing them anew: ``make bench-views``.

A table of 10-column orders is loaded and optimized. A view sums it by customer, another by
region, a third keeps a part of its rows; there are two of each. Then 1 % of the orders are
upserted: random ones, neighbours, or new ones. One of the two is refreshed, and all rows of the
other are computed anew: both write the rows that differ. Beside them, as what no refresh can do
without, pyarrow alone reads the row groups that have a changed order, of them the key and the
columns that the view reads: so the rows are found as they were before. Between two rounds the
tables are optimized. Seconds of the clock, and of processors.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import arctic
from benchmarks.orders import base_rows, orders

SHARE = 100
"""One order in so many is changed."""
_SUMS = "sum(amount::DECIMAL(18, 4)) AS amount, sum(quantity), count(*) FROM b.orders"
VIEWS = {
    "customers": f"SELECT customer_id, {_SUMS} GROUP BY customer_id",
    "regions": f"SELECT region, {_SUMS} GROUP BY region",
    "rows": "SELECT order_id, customer_id, amount * 2 AS twice FROM b.orders "
    "WHERE order_id % 2 = 0",
}
READ = {
    "customers": ["order_id", "customer_id", "amount", "quantity"],
    "regions": ["order_id", "region", "amount", "quantity"],
    "rows": ["order_id", "customer_id", "amount"],
}
"""What of the orders each view reads."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-views", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table")
    parser.add_argument("--rounds", type=int, default=3, help="of changes")
    given = parser.parse_args(arguments)
    print(f"{given.rows:,} orders x 10 columns, 1 % changed; seconds, best of {given.rounds}")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        _measure(folder, given.rows, given.rounds)
    return 0


def _measure(folder: str, rows: int, rounds: int) -> None:
    whole = pa.concat_tables(base_rows(rows))
    table = arctic.create_table("b.orders", whole.schema, primary_key="order_id", warehouse=folder)
    table.write(whole, mode="upsert")
    table.optimize(type="full")
    for view, sql in ((view, sql) for name, sql in VIEWS.items() for view in _twins(name)):
        arctic.materialize(sql, view, warehouse=folder)
    chance = np.random.default_rng(7)
    taken: dict[tuple[str, str], list[tuple[_Taken, ...]]] = defaultdict(list)
    for number in range(rounds):
        for which in ("random", "neighbours", "new"):
            for view in (view for name in VIEWS for view in _twins(name)):
                arctic.optimize(view, type="full", warehouse=folder)
            table.optimize(type="full")
            changed = _changed(whole, which, chance, number)
            table.write(changed, mode="upsert")
            for name in VIEWS:
                kept, anew = _twins(name)
                one = _refreshed(kept, folder, is_full=False)
                other = _refreshed(anew, folder, is_full=True)
                least = _timed(partial(_read, table, name, changed))
                taken[which, name].append((one, other, least))
                _check_same(kept, anew, folder)
    for (which, name), every in taken.items():
        one, other, least = (min(each) for each in zip(*every, strict=True))
        cpus = [min(each.cpu for each in column) for column in zip(*every, strict=True)]
        print(
            f"{which:<10} {name:<9} refresh {one.clock:.2f} (CPU {cpus[0]:.2f}), anew "
            f"{other.clock:.2f} ({cpus[1]:.2f}), pyarrow alone {least.clock:.2f} ({cpus[2]:.2f}): "
            f"{one.clock / other.clock:.1%} ({cpus[0] / cpus[1]:.1%}), alone "
            f"{least.clock / other.clock:.1%} ({cpus[2] / cpus[1]:.1%})",
            flush=True,
        )


def _twins(name: str) -> tuple[str, str]:
    """Return the view that is kept from changes, and the one that is computed anew."""
    return f"b.{name}", f"b.{name}_anew"


def _check_same(one: str, other: str, folder: str) -> None:
    """Compare two views, whose first column is their key."""
    rows = [arctic.read(name, warehouse=folder).read_all() for name in (one, other)]
    first, second = (each.sort_by(each.column_names[0]) for each in rows)
    if not first.equals(second):
        raise AssertionError(f"view {one} is not what its statement says")


def _read(table: arctic.Table, name: str, changed: pa.Table) -> None:
    """Read what a view reads of the row groups of base that have a changed order."""
    keys = np.sort(changed["order_id"].to_numpy())
    for path in (row["path"] for row in table.inspect("files").to_pylist() if row["kind"] == "B"):
        with pq.ParquetFile(path.removeprefix("file://")) as file:
            groups = [
                group
                for group in range(file.num_row_groups)
                for known in [file.metadata.row_group(group).column(0).statistics]
                if np.searchsorted(keys, known.min) < np.searchsorted(keys, known.max, "right")
            ]
            for _ in file.iter_batches(row_groups=groups, columns=READ[name]):
                pass


class _Taken(NamedTuple):
    """Seconds of the clock, and of processors."""

    clock: float
    cpu: float


def _timed(work: Callable[[], object]) -> _Taken:
    """Return what a piece of work takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return _Taken(time.perf_counter() - clock, time.process_time() - cpu)


def _refreshed(view: str, folder: str, *, is_full: bool) -> _Taken:
    """Refresh a view."""
    return _timed(lambda: arctic.refresh(view, full=is_full, warehouse=folder))


def _changed(whole: pa.Table, which: str, chance: np.random.Generator, number: int) -> pa.Table:
    """Return one order in so many with another amount, or as many new ones in each round."""
    count = len(whole) // SHARE
    if which == "new":
        first = len(whole) + number * count
        return orders(np.arange(first, first + count), chance)
    if which == "random":
        some = whole.take(pa.array(np.sort(chance.choice(len(whole), count, replace=False))))
    else:
        some = whole.slice(int(chance.integers(len(whole) - count)), count)
    place = some.schema.get_field_index("amount")
    more = pc.add(some["amount"].cast(pa.float64()), pa.array(chance.permutation(count)))
    return some.set_column(place, "amount", more.cast(some.schema.field("amount").type))


if __name__ == "__main__":
    sys.exit(main())
