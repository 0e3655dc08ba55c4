"""Live random lives of tables by statements in Spark SQL: ``make fuzz-sql``.

    make fuzz-sql ARGS="--histories 500 --seed 7 --workers 1"

Tables with and without a key; every kind of statement that changes rows, columns or tables; tags,
restores, optimize and expire; after every step the table is compared with a model that DuckDB
computes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fuzz.parts import live_all

_FILES = {"sql": "tests/spark/catalog/test_random_sql.py"}
_PART = 25
"""Histories of one process, which starts a Spark of its own: some minutes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Live the lives and print a line for each part; 1 if the table was ever another one."""
    parser = argparse.ArgumentParser(prog="make fuzz-sql", description=__doc__)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="each has a Spark")
    given = parser.parse_args(arguments)
    failed = live_all(
        _FILES,
        shares=dict.fromkeys(_FILES, 1),
        histories=given.histories,
        seed=given.seed,
        part=_PART,
        workers=given.workers,
    )
    for part in failed:
        print(f"FAILED: --seed {part.seed} --histories {part.histories}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
