"""What every command that compares systems does alike: choose, measure one by one, keep, show."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.environments import CACHE, PEERS, Peer
from benchmarks.peers.recorder import Recorder, record
from benchmarks.peers.report import remarks
from benchmarks.peers.result import SystemResult, load_result, save_result
from benchmarks.peers.turns import HandOn, alone, run_in_turns

Perform = Callable[[Recorder, dict[str, Any]], None]


def arguments(name: str, doc: str | None, *, limit_seconds: float) -> argparse.ArgumentParser:
    """Return a parser with the arguments that all share."""
    parser = argparse.ArgumentParser(prog=f"make {name}", description=doc)
    parser.add_argument("--systems", help="which, with commas; empty: show what is kept")
    parser.add_argument("--limit", type=float, default=limit_seconds, help="seconds for a phase")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default="", help="what a reader should know of the machine")
    return parser


def chosen(
    parser: argparse.ArgumentParser, given: argparse.Namespace, fit: Sequence[str]
) -> list[Peer]:
    """Return the systems that were asked for, in the order in which they are known."""
    asked = fit if given.systems is None else [name for name in given.systems.split(",") if name]
    for name in asked:
        if name not in fit:
            parser.error(f"system {name!r}: not known here; expected some of {', '.join(fit)}")
    return [peer for peer in PEERS if peer.name in asked]


def terminal() -> Console:
    """Return what prints; a log is wider than the 80 columns that rich takes for it."""
    return Console(width=None if sys.stdout.isatty() else 180)


def measure_each(
    peers: Sequence[Peer],
    perform: Perform,
    *,
    kept: Path,
    limit_seconds: float,
    console: Console,
    takes_turns: bool = False,
) -> None:
    """Measure systems one after the other, or side by side; each is kept when it ends.

    Args:
        peers: the systems, at least one.
        perform: what each does.
        kept: folder of the results.
        limit_seconds: for each phase.
        console: told what goes on.
        takes_turns: each runs from the first to the last, and they take turns.
    """
    CACHE.mkdir(exist_ok=True)

    def measure(peer: Peer, hand_on: HandOn) -> None:
        with tempfile.TemporaryDirectory(prefix="run-", dir=CACHE) as name:
            folder = Path(name)
            result = record(
                peer,
                perform,
                folder=folder,
                limit_seconds=limit_seconds,
                say=lambda text: console.print(f"[dim]{text}[/dim]", highlight=False),
                hand_on=hand_on,
            )
            keep(kept, result, folder)

    if takes_turns:
        run_in_turns([partial(measure, peer) for peer in peers])
        return
    for peer in peers:
        measure(peer, alone)


def keep(kept: Path, result: SystemResult, folder: Path) -> None:
    """Keep a result until its system is measured again, and the log of one that failed."""
    save_result(kept / f"{result.name}.json", result)
    if result.failure and (folder / "log.txt").exists():
        shutil.copy(folder / "log.txt", kept / f"{result.name}.log")


def kept_results(kept: Path) -> list[SystemResult]:
    """Return what is kept, in the order in which systems are known."""
    paths = [kept / f"{peer.name}.json" for peer in PEERS]
    return [load_result(path) for path in paths if path.exists()]


def show(title: str, lines: Sequence[Sequence[str]], console: Console) -> None:
    """Print a table; its first line is the header."""
    if not lines:
        return
    head, *body = lines
    shown = Table(title=title, title_justify="left")
    shown.add_column(head[0])
    for name in head[1:]:
        shown.add_column(name, justify="right")
    for line in body:
        shown.add_row(*line)
    console.print(shown)


def show_systems(results: Sequence[SystemResult], console: Console) -> None:
    """Print what each system is, whether its rows are right, and what failed."""
    for result, remark in zip(results, remarks(results), strict=True):
        versions = ", ".join(f"{name} {value}" for name, value in result.versions.items())
        console.print(f"{remark} ({versions})", highlight=False)


def exit_code(results: Sequence[SystemResult], measured: Collection[str]) -> int:
    """Return 1 where a system that was measured has other rows than expected."""
    return int(any("expected" in each.checked for each in results if each.name in measured))
