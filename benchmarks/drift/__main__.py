"""Measure a table over many commits beside its peers: ``make bench-drift``.

Accounts are loaded, then come commits of skewed upserts; between them four queries and each
system's own upkeep. Every answer and every row is checked against DuckDB. Systems take turns, for a
query or a change each, so a machine is as slow for one as for the others. With the arguments that
are set, each system takes one to six minutes on two cores, all together about a quarter of an
hour; a system that was measured is kept below .bench, so a few can be measured anew.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.drift.accounts import KEY_TYPES, Shape, write_accounts
from benchmarks.drift.expected import Expected
from benchmarks.drift.page import CHART, drawing, lines, section
from benchmarks.drift.workload import Rhythm, perform
from benchmarks.peers import runs, sections
from benchmarks.peers.environments import CACHE
from benchmarks.peers.spread import losses_of, table_of

SYSTEMS = ("arctic-spark", "iceberg-mor", "delta-spark", "paimon-spark", "hudi-bucket")
FIT = (*SYSTEMS, "iceberg-cow", "hudi-record", "arctic")
LIMIT_SECONDS = 300.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where the rows of a system are wrong."""
    parser = runs.arguments("bench-drift", __doc__, limit_seconds=LIMIT_SECONDS)
    parser.add_argument("--rows", type=int, default=1_000_000, help="accounts of the load")
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--batch", type=int, default=10_000, help="upserts of a commit")
    parser.add_argument("--skew", type=float, default=1.0, help="0: all accounts change alike")
    parser.add_argument("--key", choices=list(KEY_TYPES), default="string")
    parser.add_argument("--ask-every", type=int, default=5, help="commits between queries")
    parser.add_argument("--keep-every", type=int, default=10, help="commits between upkeep")
    parser.add_argument("--repeats", type=int, default=2, help="of a query, after its first")
    given = parser.parse_args(arguments)
    shape = Shape(
        rows=given.rows,
        commits=given.commits,
        batch=given.batch,
        skew=given.skew,
        key=given.key,
    )
    rhythm = Rhythm(ask_every=given.ask_every, keep_every=given.keep_every, repeats=given.repeats)
    peers = runs.chosen(parser, given, FIT if given.systems else SYSTEMS)
    console = runs.terminal()
    kept = CACHE / "results" / f"drift-{_name(given)}"
    if peers:
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as name:
            console.print("[dim]input, expected rows and answers[/dim]")
            accounts = write_accounts(Path(name), shape)
            expected = Expected(accounts, rhythm.asked(shape.commits))
            work = partial(perform, accounts=accounts, expected=expected, rhythm=rhythm)
            runs.measure_each(
                peers,
                work,
                kept=kept,
                limit_seconds=given.limit,
                console=console,
                takes_turns=True,
            )
    results = runs.kept_results(kept)
    found = lines(results, shape, rhythm)
    runs.show(sections.DRIFT, table_of(results, found), console)
    runs.show_systems(results, console)
    if given.write_docs:
        body = section(results, shape, rhythm, given.note)
        sections.write_section(sections.DRIFT, body, losses_of(results, found))
        (sections.PAGE.parent / CHART).write_text(drawing(results, shape, rhythm))
    return runs.exit_code(results, {peer.name for peer in peers})


def _name(given: argparse.Namespace) -> str:
    figures = (given.rows, given.commits, given.batch, given.skew, given.key)
    return "-".join(str(each) for each in (*figures, given.ask_every, given.keep_every))


if __name__ == "__main__":
    sys.exit(main())
