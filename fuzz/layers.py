"""Live long random lives of tables, against dictionaries: ``make fuzz-layers``.

    make fuzz-layers ARGS="--histories 10000 --seed 7 --workers 2"

Tables with ordering columns and merge engines get late, doubled and shuffled events, with optimize,
expire and changes of columns between them. Tables that share files are published, cloned, restored,
released, dropped and cleaned, and what is published is read by other engines. After every step each
is compared with a dictionary. The histories are those of the tests of the same names. At the end
stands how often each case occurred; NEVER means that nothing has been tried there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fuzz.parts import live_all

KINDS = {
    "last-row": "tests/property/test_merge_last_row.py",
    "ordering": "tests/property/test_ordered_histories.py",
    "first-row": "tests/property/test_merge_first_row.py",
    "folding": "tests/property/test_merge_folding.py",
    "events": "tests/property/test_ordered_events.py",
    "commands": "tests/property/test_ordered_commands.py",
    "sharing": "tests/property/test_sharing_machine.py",
    "views": "tests/job/views/test_random_views.py",
}
"""What is lived through, and the file of it; folding is partial-update and aggregate."""
_SHARES = {kind: 1 if kind == "views" else 20 for kind in KINDS}
"""Of the histories; one of views computes nine of them several times, each twice."""
_PART = 250
"""Histories of one process: some minutes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Live the lives and print a line for each part; 1 if the table was ever another one."""
    parser = argparse.ArgumentParser(prog="make fuzz-layers", description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=KINDS, help="one kind alone")
    given = parser.parse_args(arguments)
    files = {given.only: KINDS[given.only]} if given.only else KINDS
    failed = live_all(
        files,
        shares={kind: _SHARES[kind] for kind in files},
        histories=given.histories,
        seed=given.seed,
        part=_PART,
        workers=given.workers,
    )
    for part in failed:
        print(f"FAILED: --only {part.kind} --seed {part.seed} --histories {part.histories}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
