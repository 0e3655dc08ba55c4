"""Measure Arctic beside its peers: ``make bench-peers``.

Every system gets the same files and is checked against DuckDB. The figures of each system are kept
below .bench until it is measured again, so a few systems can be measured anew.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.peers import runs
from benchmarks.peers.chart import chart
from benchmarks.peers.environments import CACHE, PEERS
from benchmarks.peers.inputs import write_inputs
from benchmarks.peers.oracle import Oracle
from benchmarks.peers.page import CHART, COMMANDS_TITLE, page, with_commands
from benchmarks.peers.report import (
    behind,
    command_table,
    commands_behind,
    comparisons,
    table,
)
from benchmarks.peers.result import SystemResult
from benchmarks.peers.run import measure
from benchmarks.peers.sections import PAGE, measured, with_losses, with_others

LIMIT_SECONDS = 180.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where the rows of a system are wrong."""
    parser = runs.arguments("bench-peers", __doc__, limit_seconds=LIMIT_SECONDS)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the load")
    parser.add_argument("--only", choices=["commands"], help="row-level commands in SQL alone")
    given = parser.parse_args(arguments)
    changing = [peer for peer in PEERS if peer.changes]
    fit = [peer.name for peer in changing if peer.has_commands or not given.only]
    chosen = [peer.name for peer in runs.chosen(parser, given, fit)]
    console = runs.terminal()
    kept = CACHE / "results" / "-".join(filter(None, [str(given.rows), given.only]))
    if chosen:
        _measure_all(chosen, given, kept, console)
    results = runs.kept_results(kept)
    shown = [result for result in results if not chosen or result.name in chosen]
    _show(shown, console, only_commands=given.only == "commands")
    if given.write_docs:
        _write_docs(results, given)
    return runs.exit_code(results, chosen)


def _measure_all(
    chosen: Sequence[str], given: argparse.Namespace, kept: Path, console: Console
) -> None:
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as name:
        folder = Path(name)
        console.print("[dim]input, expected rows[/dim]")
        inputs = write_inputs(folder / "input", given.rows)
        oracle = Oracle(inputs)
        if any(peer.has_commands and peer.name in chosen for peer in PEERS):
            oracle.run_commands()
        for peer in PEERS:
            if peer.name not in chosen:
                continue
            scratch = folder / peer.name
            scratch.mkdir()
            result = measure(
                peer,
                inputs,
                oracle,
                folder=scratch,
                limit_seconds=given.limit,
                say=lambda text: console.print(f"[dim]{text}[/dim]"),
                only_commands=given.only == "commands",
            )
            runs.keep(kept, result, scratch)
            shutil.rmtree(scratch)


def _show(results: Sequence[SystemResult], console: Console, *, only_commands: bool) -> None:
    tables = [] if only_commands else [(each.title, table(each)) for each in comparisons(results)]
    tables.append((COMMANDS_TITLE, command_table(results)))
    for title, lines in tables:
        runs.show(title, lines, console)
    runs.show_systems(results, console)


def _write_docs(results: Sequence[SystemResult], given: argparse.Namespace) -> None:
    losses = {each.title: behind(each) for each in comparisons(results)}
    losses[COMMANDS_TITLE] = commands_behind(results)
    old = PAGE.read_text()
    if given.only:
        text = with_commands(old, results)
        losses = {COMMANDS_TITLE: losses[COMMANDS_TITLE]}
    else:
        text = page(
            results, rows=given.rows, machine=measured(given.note), limit_seconds=given.limit
        )
        (PAGE.parent / CHART).write_text(chart(comparisons(results)))
        text = with_others(text, old)
    for title, lines in losses.items():
        text = with_losses(text, title, lines)
    PAGE.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
