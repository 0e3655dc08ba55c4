"""``make sim``: schedulers over a day of virtual time."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from simulation.report import simulate


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and say what was found; 1 where anything was not as it must be."""
    parser = argparse.ArgumentParser(prog="make sim", description=__doc__)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--read-skew", type=float, default=1.2)
    given = parser.parse_args(arguments)
    is_good = True
    for line in simulate(
        tables=given.tables,
        hours=given.hours,
        slots=given.slots,
        seed=given.seed,
        read_skew=given.read_skew,
    ):
        print(line, flush=True)
        is_good = is_good and not line.startswith("BAD")
    print(f"{time.process_time():.1f} s of CPU: {'good' if is_good else 'NOT GOOD'}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
