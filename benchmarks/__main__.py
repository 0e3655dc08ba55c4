"""Measure planning, writing and merging: ``make bench``.

One line for each figure: what was done, the best of a few runs, and a rate. The data is made up and
the same every time; figures of two commits compare only on the same quiet machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.merge import merge_figures
from benchmarks.plan import plan_figures
from benchmarks.report import Figure

RUNS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of the chosen groups."""
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        groups: dict[str, Callable[[], list[Figure]]] = {
            "plan": plan_figures,
            "merge": lambda: merge_figures(Path(folder)),
        }
        parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
        parser.add_argument("group", nargs="*", choices=[*groups, []], help="default: all")
        for name in parser.parse_args(arguments).group or groups:
            for figure in groups[name]():
                print(figure.line(_best_seconds(figure)), flush=True)
    return 0


def _best_seconds(figure: Figure) -> float:
    seconds = []
    for _ in range(figure.runs or RUNS):
        started = time.perf_counter()
        figure.run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    sys.exit(main())
