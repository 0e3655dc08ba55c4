"""Soak: writers, a stream, an optimizer, an expirer, readers and a follower on the same tables."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from soak.run import Soak


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and say what was found; 1 where anything was not as it must be."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="that everybody works")
    parser.add_argument("--seed", type=int, default=1, help="of all operations")
    parser.add_argument("--no-spark", action="store_true", help="stream without Spark")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-soak-") as folder:
        soak = Soak(
            Path(folder),
            seed=given.seed,
            spark=not given.no_spark,
            say=lambda line: print(line, flush=True),
        )
        outcome = soak.run(given.minutes * 60)
    for failure in outcome.failures:
        print(f"FAILED {failure}")
    print(
        f"{outcome.operations:,} operations, {outcome.retried:,} retried, failed "
        f"{len(outcome.failures)}; {outcome.rows:,} rows, orphans {outcome.orphans}; seed "
        f"{given.seed}: {'good' if outcome.is_good else 'NOT GOOD'}"
    )
    return 0 if outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
