"""Net changes beside a merged read of the same keys: ``make bench-changes``.

A table of 10-column orders is loaded and optimized, then 1 % of its orders are upserted: random
ones, or neighbours. What the upsert did is read with the rows of before, and beside it the merged
rows of the same keys, once as they are and once as they were. One thread, processor time, the
median of several rounds in which they take turns. The last line replaces all rows by what they are,
but for as many, and reads the difference beside a read of both states.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import arctic
from benchmarks.orders import base_rows

SHARE = 100
"""One order in so many is changed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-changes", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table")
    parser.add_argument("--rounds", type=int, default=5, help="of each read")
    given = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    print(f"{given.rows:,} orders x 10 columns, 1 % changed; CPU ms, median of {given.rounds}")
    count = given.rows // SHARE
    random = np.random.default_rng(7).choice(given.rows, count, replace=False)
    for name, ids in (("random", random), ("neighbours", np.arange(count) + given.rows // 3)):
        with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
            _measure(name, given.rows, pa.array(np.sort(ids)), folder, given.rounds)
    return 0


def _measure(name: str, rows: int, ids: pa.Array, folder: str, rounds: int) -> None:
    whole = pa.concat_tables(base_rows(rows))
    table = arctic.create_table("b.orders", whole.schema, primary_key="order_id", warehouse=folder)
    table.write(whole, mode="upsert")
    table.optimize(type="full")
    start = int(table.versions()["version"][-1].as_py())
    changed = _changed(whole, ids)
    table.write(changed.filter(pc.is_in(changed["order_id"], ids)), mode="upsert")
    touched = pc.field("order_id").isin(ids)
    asked = {"start-version": str(start), "change-rows": "net"}
    net, now, before = _turns(
        [
            lambda: table.read_changes(options=asked).read_all().num_rows,
            lambda: table.read(filter=touched).read_all().num_rows,
            lambda: table.read(filter=touched, version=start).read_all().num_rows,
        ],
        [2 * len(ids), len(ids), len(ids)],
        rounds,
    )
    print(
        f"{name:<11} net {net:,.0f}, read {now:,.0f}, as it was {before:,.0f}: "
        f"{net / now:.2f}x of the read, {net / (now + before):.2f}x of both",
        flush=True,
    )
    table.write(whole, mode="overwrite")
    again = {"start-version": str(start + 1), "change-rows": "net"}
    difference, both = _turns(
        [
            lambda: table.read_changes(options=again).read_all().num_rows,
            lambda: (
                table.read().read_all().num_rows + table.read(version=start + 1).read_all().num_rows
            ),
        ],
        [2 * len(ids), 2 * rows],
        rounds,
    )
    print(
        f"{name:<11} overwrite {difference:,.0f}, both states {both:,.0f}: "
        f"{difference / both:.2f}x",
        flush=True,
    )


def _changed(whole: pa.Table, ids: pa.Array) -> pa.Table:
    """Return the orders with another amount where their ids are chosen."""
    at = whole.schema.get_field_index("amount")
    more = pc.add(whole["amount"], pa.scalar(1, whole["amount"].type))
    is_chosen = pc.is_in(whole["order_id"], ids)
    return whole.set_column(
        at, "amount", pc.if_else(is_chosen, more.cast(whole["amount"].type), whole["amount"])
    )


def _turns(turns: Sequence[Callable[[], int]], expected: Sequence[int], rounds: int) -> list[float]:
    """Return the milliseconds of each, after a round that warms up and checks the rows."""
    taken = []
    for _ in range(rounds + 1):
        one = []
        for turn, rows in zip(turns, expected, strict=True):
            began = time.process_time()
            found = turn()
            one.append((time.process_time() - began) * 1000)
            if found != rows:
                raise AssertionError(f"{found} rows, expected {rows}")
        taken.append(one)
    return [statistics.median(column) for column in zip(*taken[1:], strict=True)]


if __name__ == "__main__":
    sys.exit(main())
