"""Measure TPC-H with its refreshes beside Iceberg and plain Parquet: ``make bench-tpch``.

Every answer, and the rows of the tables that were changed, are checked against DuckDB. Systems take
turns, for a query or a change each, so a machine is as slow for one as for the others. At scale
factor 1 each system takes about five minutes on two cores, and ten times as long at 10; a system
that was measured is kept below .bench, so a few can be measured anew.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.peers import runs, sections
from benchmarks.peers.environments import CACHE
from benchmarks.peers.spread import losses_of, table_of
from benchmarks.tpch.data import Tpch
from benchmarks.tpch.page import lines, section
from benchmarks.tpch.workload import perform

SYSTEMS = ("arctic-spark", "iceberg-mor", "parquet-spark")
FIT = (*SYSTEMS, "iceberg-cow", "delta-spark", "arctic")
ALL = ",".join(str(number) for number in range(1, 23))
LIMIT_SECONDS = 600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where the rows of a system are wrong."""
    parser = runs.arguments("bench-tpch", __doc__, limit_seconds=LIMIT_SECONDS)
    parser.add_argument("--scale", type=float, default=1.0, help="factor; 10 needs 20 GiB of disk")
    parser.add_argument("--refreshes", type=int, default=10, help="pairs, of 1/1000 each")
    parser.add_argument("--queries", default=ALL, help="which, with commas")
    parser.add_argument("--repeats", type=int, default=3, help="of a query, after its first")
    given = parser.parse_args(arguments)
    queries = [int(number) for number in given.queries.split(",")]
    peers = runs.chosen(parser, given, FIT if given.systems else SYSTEMS)
    console = runs.terminal()
    kept = CACHE / "results" / f"tpch-{given.scale:g}-{given.refreshes}"
    if peers:
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as name:
            console.print("[dim]tables, refreshes, expected answers[/dim]")
            tpch = Tpch(Path(name), scale=given.scale, refreshes=given.refreshes)
            work = partial(perform, tpch=tpch, queries=queries, repeats=given.repeats)
            runs.measure_each(
                peers,
                work,
                kept=kept,
                limit_seconds=given.limit,
                console=console,
                takes_turns=True,
            )
    results = runs.kept_results(kept)
    found = lines(results, queries=queries, refreshes=given.refreshes)
    runs.show(sections.TPCH, table_of(results, found), console)
    runs.show_systems(results, console)
    if given.write_docs:
        body = section(
            results,
            scale=given.scale,
            queries=queries,
            refreshes=given.refreshes,
            repeats=given.repeats,
            note=given.note,
        )
        sections.write_section(sections.TPCH, body, losses_of(results, found))
    return runs.exit_code(results, {peer.name for peer in peers})


if __name__ == "__main__":
    sys.exit(main())
