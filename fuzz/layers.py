"""Live long random lives of tables, against dictionaries: ``make fuzz-layers``.

    make fuzz-layers ARGS="--histories 10000 --seed 7 --workers 2"

Tables with ordering columns and merge engines get late, doubled and shuffled events, with optimize,
expire and changes of columns between them. Tables that share files are published, cloned, restored,
released, dropped and cleaned, and what is published is read by other engines. After every step each
is compared with a dictionary. The histories are those of the tests of the same names, dealt into
parts that each have a seed and a process of their own, so that a part that fails is run again by
itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

KINDS = {
    "ordering": "test_ordered_histories.py",
    "first-row": "test_merge_first_row.py",
    "folding": "test_merge_folding.py",
    "sharing": "test_sharing_machine.py",
}
"""What is lived through, and the file of it; folding is partial-update and aggregate."""
_ROOT = Path(__file__).parents[1]
_PART = 250
"""Histories of one process: some minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some histories of one kind, drawn from one seed."""

    kind: str
    seed: int
    histories: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Live the lives and print a line for each part; 1 if the table was ever another one."""
    parser = argparse.ArgumentParser(prog="make fuzz-layers", description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=KINDS, help="one kind alone")
    given = parser.parse_args(arguments)
    kinds = [given.only] if given.only else list(KINDS)
    parts = parts_of(kinds, given.histories, given.seed)
    with ThreadPoolExecutor(given.workers) as pool:
        failed = [part for part, ok in zip(parts, pool.map(live, parts), strict=True) if not ok]
    for kind in kinds:
        lived = sum(part.histories for part in parts if part.kind == kind and part not in failed)
        print(f"{kind}: {lived:,} histories, all equal", flush=True)
    for part in failed:
        print(f"FAILED: --only {part.kind} --seed {part.seed} --histories {part.histories}")
    return int(bool(failed))


def parts_of(kinds: Sequence[str], histories: int, seed: int) -> list[Part]:
    """Deal histories evenly over kinds, and into parts with seeds that follow one another."""
    parts = []
    for place, kind in enumerate(kinds):
        left = histories // len(kinds) + (place < histories % len(kinds))
        number = seed
        while left > 0:
            parts.append(Part(kind=kind, seed=number, histories=min(left, _PART)))
            left -= _PART
            number += 1
    # Of each kind some early: a mistake in one is seen soon.
    return sorted(parts, key=lambda part: part.seed)


def live(part: Part) -> bool:
    """Live through a part in a process of its own; False: a table was another one."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--hypothesis-seed={part.seed}"]
    known = {"HYPOTHESIS_PROFILE": "deep", "ARCTIC_HISTORIES": str(part.histories)}
    found = subprocess.run(
        [*command, "-o", "faulthandler_timeout=0", f"tests/property/{KINDS[part.kind]}"],
        cwd=_ROOT,
        env={**os.environ, **known},
        capture_output=True,
        text=True,
    )
    ok = found.returncode == 0
    said = "equal" if ok else f"DIFFERS\n{found.stdout}{found.stderr}"
    print(f"{part.kind} --seed {part.seed}: {part.histories} histories, {said}", flush=True)
    return ok


if __name__ == "__main__":
    sys.exit(main())
