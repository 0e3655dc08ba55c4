"""Refreshes of views beside computing them anew: ``make bench-views``.

A table of 10-column orders is loaded and optimized. A view sums it by customer, another by
region, a third keeps a part of its rows. Then 1 % of the orders are upserted, random ones or
neighbours, and each view is refreshed; and beside it all of its rows are computed by one full
refresh. Between two rounds the tables are optimized. Seconds of the clock, and of processors.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arctic
from benchmarks.orders import base_rows

SHARE = 100
"""One order in so many is changed."""
_SUMS = "sum(amount::DECIMAL(18, 4)) AS amount, sum(quantity), count(*) FROM b.orders"
VIEWS = {
    "customers": f"SELECT customer_id, {_SUMS} GROUP BY customer_id",
    "regions": f"SELECT region, {_SUMS} GROUP BY region",
    "rows": "SELECT order_id, customer_id, amount * 2 AS twice FROM b.orders "
    "WHERE order_id % 2 = 0",
}


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
    for name, sql in VIEWS.items():
        arctic.materialize(sql, f"b.{name}", warehouse=folder)
    chance = np.random.default_rng(7)
    kept: dict[tuple[str, str], list[_Taken]] = defaultdict(list)
    anew: dict[tuple[str, str], list[_Taken]] = defaultdict(list)
    for _ in range(rounds):
        for which in ("random", "neighbours"):
            for name in VIEWS:
                arctic.optimize(f"b.{name}", type="full", warehouse=folder)
            table.optimize(type="full")
            table.write(_changed(whole, which, chance), mode="upsert")
            for name in VIEWS:
                _, taken = _refreshed(f"b.{name}", folder, is_full=False)
                kept[which, name].append(taken)
                differing, taken = _refreshed(f"b.{name}", folder, is_full=True)
                anew[which, name].append(taken)
                if differing:
                    raise AssertionError(f"view {name} was not what its statement says")
    for (which, name), rounds_of in kept.items():
        every_of = anew[which, name]
        ours, every = min(rounds_of), min(every_of)
        cpu, all_cpu = (min(each.cpu for each in one) for one in (rounds_of, every_of))
        print(
            f"{which:<10} {name:<9} refresh {ours.clock:.2f} (CPU {cpu:.2f}), anew "
            f"{every.clock:.2f} ({all_cpu:.2f}): {ours.clock / every.clock:.1%} "
            f"({cpu / all_cpu:.1%})",
            flush=True,
        )


class _Taken(NamedTuple):
    """Seconds of the clock, and of processors."""

    clock: float
    cpu: float


def _refreshed(view: str, folder: str, *, is_full: bool) -> tuple[int, _Taken]:
    """Refresh a view; return how many of its rows were written."""
    clock, cpu = time.perf_counter(), time.process_time()
    report = arctic.refresh(view, full=is_full, warehouse=folder)
    taken = _Taken(time.perf_counter() - clock, time.process_time() - cpu)
    return report.upserts + report.deletes, taken


def _changed(whole: pa.Table, which: str, chance: np.random.Generator) -> pa.Table:
    """Return one order in so many with another amount."""
    count = len(whole) // SHARE
    if which == "random":
        some = whole.take(pa.array(np.sort(chance.choice(len(whole), count, replace=False))))
    else:
        some = whole.slice(int(chance.integers(len(whole) - count)), count)
    place = some.schema.get_field_index("amount")
    more = pc.add(some["amount"].cast(pa.float64()), pa.array(chance.permutation(count)))
    return some.set_column(place, "amount", more.cast(some.schema.field("amount").type))


if __name__ == "__main__":
    sys.exit(main())
