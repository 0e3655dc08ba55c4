"""Soak: writers, a stream, an optimizer, an expirer, readers and a follower on the same tables.

With ``--serve`` two services look after many tables instead, and are killed while others write.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from soak.run import Soak
from soak.service_run import ServiceSoak


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak, and say what was found; 1 where anything was not as it must be."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="that everybody works")
    parser.add_argument("--seed", type=int, default=1, help="of all operations")
    parser.add_argument("--no-spark", action="store_true", help="stream without Spark")
    parser.add_argument("--serve", action="store_true", help="let two services look after them")
    parser.add_argument("--tables", type=int, default=50, help="of the services")
    parser.add_argument("--streams", type=int, default=2, help="of Spark, beside the services")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-soak-") as folder:
        outcome = _soak(given, Path(folder)).run(given.minutes * 60)
    for failure in outcome.failures:
        print(f"FAILED {failure}")
    print(
        f"{outcome.operations:,} operations, {outcome.retried:,} retried, failed "
        f"{len(outcome.failures)}; {outcome.rows:,} rows, orphans {outcome.orphans}; seed "
        f"{given.seed}: {'good' if outcome.is_good else 'NOT GOOD'}"
    )
    return 0 if outcome.is_good else 1


def _soak(given: argparse.Namespace, folder: Path) -> Soak | ServiceSoak:
    def say(line: str) -> None:
        print(line, flush=True)

    if given.serve:
        streams = 0 if given.no_spark else min(given.streams, given.tables)
        return ServiceSoak(folder, seed=given.seed, tables=given.tables, streams=streams, say=say)
    return Soak(folder, seed=given.seed, spark=not given.no_spark, say=say)


if __name__ == "__main__":
    sys.exit(main())
