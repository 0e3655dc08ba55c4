"""Refreshes of views beside computing them anew: ``make bench-views``.

A table of 10-column orders is loaded and optimized. A view sums it by customer, another keeps a
part of its rows. Then 1 % of the orders are upserted, random ones, and each view is refreshed; and
beside it all of its rows are computed by one full refresh. Seconds of the clock.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arctic
from benchmarks.orders import base_rows

SHARE = 100
"""One order in so many is changed."""
VIEWS = {
    "sums": "SELECT {group}, sum(amount::DECIMAL(18, 4)) AS amount, sum(quantity), count(*) "
    "FROM b.orders GROUP BY {group}",
    "rows": "SELECT order_id, {group}, amount * 2 AS twice FROM b.orders WHERE order_id % 2 = 0",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-views", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table")
    parser.add_argument("--rounds", type=int, default=3, help="of changes")
    parser.add_argument("--group", default="customer_id", help="the column that is summed by")
    given = parser.parse_args(arguments)
    print(f"{given.rows:,} orders x 10 columns, 1 % changed; seconds, best of {given.rounds}")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        _measure(folder, given.rows, given.rounds, given.group)
    return 0


def _measure(folder: str, rows: int, rounds: int, group: str) -> None:
    whole = pa.concat_tables(base_rows(rows))
    table = arctic.create_table("b.orders", whole.schema, primary_key="order_id", warehouse=folder)
    table.write(whole, mode="upsert")
    table.optimize(type="full")
    for name, sql in VIEWS.items():
        arctic.materialize(sql.format(group=group), f"b.{name}", warehouse=folder)
        arctic.optimize(f"b.{name}", type="full", warehouse=folder)
    chance = np.random.default_rng(7)
    kept: dict[str, list[float]] = {name: [] for name in VIEWS}
    anew: dict[str, list[float]] = {name: [] for name in VIEWS}
    for _ in range(rounds):
        at = np.sort(chance.choice(rows, rows // SHARE, replace=False))
        some = whole.take(pa.array(at))
        place = some.schema.get_field_index("amount")
        amount = pa.array(chance.permutation(len(some)))
        more = pc.add(some["amount"].cast(pa.float64()), amount)
        some = some.set_column(place, "amount", more.cast(some.schema.field("amount").type))
        table.write(some, mode="upsert")
        for name in VIEWS:
            kept[name].append(arctic.refresh(f"b.{name}", warehouse=folder).seconds)
            report = arctic.refresh(f"b.{name}", full=True, warehouse=folder)
            anew[name].append(report.seconds)
            if report.upserts or report.deletes:
                raise AssertionError(f"view {name} was not what its statement says")
    for name in VIEWS:
        ours, all_rows = min(kept[name]), min(anew[name])
        print(f"{name:<6} refresh {ours:.2f}, anew {all_rows:.2f}: {ours / all_rows:.1%}")


if __name__ == "__main__":
    sys.exit(main())
