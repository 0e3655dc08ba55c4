"""Measure everything that docs/benchmarks.md shows, and write it: ``make bench-world``.

Runs the commands one after the other, each with the sizes of the page, within two hours on two
cores: peers 50 minutes, commits 15, TPC-H 20. One that fails does not keep the others from running.
Results are kept below .bench, so after a break ``--only`` goes on with the commands that are left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from rich.console import Console

COMMANDS = {
    "peers": ("benchmarks.peers", "--rows", "2000000"),
    "drift": ("benchmarks.drift",),
    "tpch": ("benchmarks.tpch",),
    "ch": ("benchmarks.ch",),
}
"""What ``make bench-NAME`` runs; all else is as each sets it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the commands; 1 where one failed or found wrong rows."""
    parser = argparse.ArgumentParser(prog="make bench-world", description=__doc__)
    parser.add_argument("--only", default=",".join(COMMANDS), help="which, with commas")
    parser.add_argument("--small", action="store_true", help="try it: few rows, and write no page")
    parser.add_argument("--systems", help="which, with commas; empty: write what is kept")
    parser.add_argument("--note", default="", help="what a reader should know of the machine")
    given = parser.parse_args(arguments)
    names = given.only.split(",")
    for name in names:
        if name not in COMMANDS:
            parser.error(f"command {name!r}: expected some of {', '.join(COMMANDS)}")
    console = Console()
    failed = []
    for name in names:
        started = time.monotonic()
        done = subprocess.run(command(name, given), check=False)
        console.print(f"{name}: {(time.monotonic() - started) / 60:.1f} minutes", highlight=False)
        failed += [name] if done.returncode else []
    if failed:
        console.print(f"failed, or with wrong rows: {', '.join(failed)}", highlight=False)
    return int(bool(failed))


SMALL = {
    "peers": ("--rows", "20000"),
    "drift": ("--rows", "2000", "--commits", "2", "--batch", "100", "--repeats", "1"),
    "ch": (
        *("--items", "200", "--customers", "12", "--rounds", "1", "--batches", "1"),
        *("--transactions", "40", "--queries", "1,5"),
    ),
    "tpch": ("--scale", "0.003", "--refreshes", "1", "--queries", "1,6", "--repeats", "1"),
}


def command(name: str, given: argparse.Namespace) -> list[str]:
    """Return what to run for a command of the page."""
    parts = [sys.executable, "-m", *COMMANDS[name], "--note", given.note]
    parts += SMALL[name] if given.small else ("--write-docs",)
    # An empty choice is one too: it shows, and writes, what is kept.
    return parts if given.systems is None else [*parts, "--systems", given.systems]


if __name__ == "__main__":
    sys.exit(main())
