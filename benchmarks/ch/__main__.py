"""Measure analytic queries on a mirror of a database at work: ``make bench-ch``.

Needs PostgreSQL with wal2json. Every answer is checked against PostgreSQL's, and the rows of the
tables that were changed too. A system that was measured is kept below .bench, so a few can be
measured anew.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.ch.page import growth, lines, section
from benchmarks.ch.queries import QUERIES
from benchmarks.ch.shop import Size
from benchmarks.ch.work import Plan, Work
from benchmarks.ch.workload import perform
from benchmarks.peers import runs, sections
from benchmarks.peers.environments import CACHE
from benchmarks.peers.spread import losses_of, table_of
from tests.postgres.cluster import running_cluster

SYSTEMS = ("arctic-spark", "iceberg-eq", "iceberg-mor")
FIT = (*SYSTEMS, "iceberg-cow", "delta-spark", "arctic")
LIMIT_SECONDS = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where the rows of a system are wrong."""
    parser = runs.arguments("bench-ch", __doc__, limit_seconds=LIMIT_SECONDS)
    parser.add_argument("--warehouses", type=int, default=1)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--customers", type=int, default=3_000, help="of each district")
    parser.add_argument("--rounds", type=int, default=2, help="without upkeep, and as many with it")
    parser.add_argument("--batches", type=int, default=5, help="of a round, for who has no mirror")
    parser.add_argument("--transactions", type=int, default=500, help="of a batch")
    parser.add_argument("--queries", default=",".join(map(str, QUERIES)), help="with commas")
    parser.add_argument("--repeats", type=int, default=1, help="of a query, after its first")
    given = parser.parse_args(arguments)
    queries = [int(number) for number in given.queries.split(",")]
    size = Size(warehouses=given.warehouses, items=given.items, customers=given.customers)
    plan = Plan(
        size=size, rounds=given.rounds, batches=given.batches, transactions=given.transactions
    )
    peers = runs.chosen(parser, given, FIT if given.systems else SYSTEMS)
    console = runs.terminal()
    kept = CACHE / "results" / f"ch-{_name(given)}"
    if peers:
        CACHE.mkdir(exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as name,
            running_cluster() as server,
        ):
            console.print("[dim]the shop, its changes, PostgreSQL's answers[/dim]")
            work = Work(server, Path(name), plan)
            todo = partial(perform, work=work, queries=queries, repeats=given.repeats)
            runs.measure_each(peers, todo, kept=kept, limit_seconds=given.limit, console=console)
    results = runs.kept_results(kept)
    found = lines(results, plan, queries)
    runs.show(sections.CH, table_of(results, found), console)
    runs.show_systems(results, console)
    for result in results:
        console.print(growth(result, plan, queries), highlight=False)
    if given.write_docs:
        body = section(results, plan, queries=queries, repeats=given.repeats, note=given.note)
        sections.write_section(sections.CH, body, losses_of(results, found))
    return runs.exit_code(results, {peer.name for peer in peers})


def _name(given: argparse.Namespace) -> str:
    figures = (given.warehouses, given.items, given.customers)
    return "-".join(map(str, (*figures, given.rounds, given.batches, given.transactions)))


if __name__ == "__main__":
    sys.exit(main())
