"""Measure a table through Spark, planning and merging: ``make bench``.

The data is made up and the same every time; figures of two commits compare only on the same quiet
machine, so read the ratios.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.merge import SHAPES, measure_merge
from benchmarks.plan import measure_plans
from benchmarks.tables import measure_tables

RUNS = 3
GROUPS = ("tables", "plan", "merge")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of the chosen groups."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("group", nargs="*", metavar="group", help=f"of {', '.join(GROUPS)}; all")
    parser.add_argument("--rows", type=int, default=2_000_000, help="base rows of the table")
    parser.add_argument("--batches", type=int, default=5, help="upserts into it")
    parser.add_argument("--no-growth", action="store_true", help="leave the 10x table out")
    parser.add_argument("--files", type=int, default=100_000, help="of the tables that are planned")
    given = parser.parse_args(arguments)
    unknown = [group for group in given.group if group not in GROUPS]
    if unknown:
        parser.error(f"group {unknown[0]!r}; expected one of {', '.join(GROUPS)}")
    groups = given.group or GROUPS
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        if "tables" in groups:
            measure_tables(
                Path(folder), rows=given.rows, batches=given.batches, growth=not given.no_growth
            )
        if "plan" in groups:
            measure_plans(Path(folder), files=given.files)
        if "merge" in groups:
            # Last: it leaves pyarrow with one thread.
            measure_merge(
                Path(folder) / "merge",
                rows=given.rows,
                rounds=RUNS,
                keys=tuple(SHAPES),
                row_group=None,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
