"""Measure Arctic beside its peers: ``make bench-peers``.

Every system gets the same files and is checked against DuckDB. The figures of each system are kept
below .bench until it is measured again, so a few systems can be measured anew.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peers.chart import chart
from benchmarks.peers.environments import CACHE, PEERS, ROOT
from benchmarks.peers.inputs import write_inputs
from benchmarks.peers.oracle import Oracle
from benchmarks.peers.page import CHART, page, with_commands
from benchmarks.peers.report import command_table, comparisons, remarks, table
from benchmarks.peers.result import SystemResult, load_result, save_result
from benchmarks.peers.run import measure

LIMIT_SECONDS = 180.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where the rows of a system are wrong."""
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    known = [peer.name for peer in PEERS]
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the load")
    parser.add_argument("--systems", help="which, with commas; empty: show")
    parser.add_argument("--only", choices=["commands"], help="row-level commands in SQL alone")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for a phase")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default="", help="what a reader should know of the machine")
    given = parser.parse_args(arguments)
    fit = [peer.name for peer in PEERS if peer.has_commands or not given.only]
    asked = fit if given.systems is None else given.systems.split(",")
    chosen = [name for name in asked if name]
    for name in chosen:
        if name not in fit:
            parser.error(f"system {name!r}: not known here; expected some of {', '.join(fit)}")
    # A log is wider than the 80 columns that rich takes where there is no terminal.
    console = Console(width=None if sys.stdout.isatty() else 180)
    kept = CACHE / "results" / "-".join(filter(None, [str(given.rows), given.only]))
    if chosen:
        _measure_all(chosen, given, kept, console)
    results = [
        load_result(kept / f"{name}.json") for name in known if (kept / f"{name}.json").exists()
    ]
    shown = [result for result in results if not chosen or result.name in chosen]
    _show(shown, console, only_commands=given.only == "commands")
    if given.write_docs:
        _write_docs(results, given)
    return int(any("missing" in result.checked for result in results if result.name in chosen))


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
            save_result(kept / f"{peer.name}.json", result)
            if result.failure and (scratch / "log.txt").exists():
                shutil.copy(scratch / "log.txt", kept / f"{peer.name}.log")
            shutil.rmtree(scratch)


def _show(results: Sequence[SystemResult], console: Console, *, only_commands: bool) -> None:
    tables = [] if only_commands else [(each.title, table(each)) for each in comparisons(results)]
    tables.append(("Row-level commands in SQL", command_table(results)))
    for title, lines in tables:
        if not lines:
            continue
        head, *body = lines
        shown = Table(title=title, title_justify="left")
        shown.add_column(head[0])
        for name in head[1:]:
            shown.add_column(name, justify="right")
        for line in body:
            shown.add_row(*line)
        console.print(shown)
    for remark in remarks(results):
        console.print(remark, highlight=False)


def _write_docs(results: Sequence[SystemResult], given: argparse.Namespace) -> None:
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    if given.note:
        machine += f" ({given.note})"
    docs = ROOT / "docs"
    if given.only:
        written = (docs / "benchmarks.md").read_text()
        (docs / "benchmarks.md").write_text(with_commands(written, results))
        return
    text = page(results, rows=given.rows, machine=machine, limit_seconds=given.limit)
    (docs / "benchmarks.md").write_text(text)
    (docs / CHART).write_text(chart(comparisons(results)))


if __name__ == "__main__":
    sys.exit(main())
