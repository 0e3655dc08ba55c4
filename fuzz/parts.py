"""Histories of a test, dealt into parts that each have a seed and a process of their own.

So a part that fails is run again by itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_EXAMPLES, _PASSED = re.compile(r"(\d+) passing\b"), re.compile(r"(\d+) passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some histories of one kind, drawn from one seed."""

    kind: str
    seed: int
    histories: int


def live_all(
    files: Mapping[str, str], *, histories: int, seed: int, part: int, workers: int
) -> list[Part]:
    """Live the lives, print a line for each part and kind, and return the parts that failed.

    Args:
        files: the tests by what they are called.
        histories: of all kinds together.
        seed: of the first part of each kind; the others follow it.
        part: histories of one process, at most.
        workers: processes at a time.
    """
    parts = parts_of(list(files), histories, seed, part)
    with ThreadPoolExecutor(workers) as pool:
        counts = pool.map(lambda each: live(each, files[each.kind]), parts)
        lived = dict(zip(parts, counts, strict=True))
    for kind in files:
        count = sum(lived[each] for each in parts if each.kind == kind)
        print(f"{kind}: {count:,} histories, all equal", flush=True)
    return [each for each, count in lived.items() if not count]


def parts_of(kinds: Sequence[str], histories: int, seed: int, part: int) -> list[Part]:
    """Deal histories evenly over kinds, and into parts with seeds that follow one another."""
    parts = []
    for place, kind in enumerate(kinds):
        left = histories // len(kinds) + (place < histories % len(kinds))
        number = seed
        while left > 0:
            parts.append(Part(kind=kind, seed=number, histories=min(left, part)))
            left -= part
            number += 1
    # Of each kind some early: a mistake in one is seen soon.
    return sorted(parts, key=lambda each: each.seed)


def live(part: Part, file: str) -> int:
    """Live through a part in a process of its own.

    Returns:
        The histories that were lived, as they were counted; 0: a table was another one.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--hypothesis-seed={part.seed}"]
    command.append("--hypothesis-show-statistics")
    known = {
        "HYPOTHESIS_PROFILE": "deep",
        "ARCTIC_HISTORIES": str(part.histories),
        # A part's seeds are its own, also where a test counts them itself.
        "ARCTIC_FIRST_SEED": str(part.seed * 1_000),
    }
    found = subprocess.run(
        [*command, "-o", "faulthandler_timeout=0", file],
        cwd=_ROOT,
        env={**os.environ, **known},
        capture_output=True,
        text=True,
    )
    ok = found.returncode == 0
    told = _EXAMPLES.findall(found.stdout) or _PASSED.findall(found.stdout)
    count = sum(map(int, told)) if ok else 0
    said = "equal" if ok else f"DIFFERS\n{found.stdout}{found.stderr}"
    print(f"{part.kind} --seed {part.seed}: {count} histories, {said}", flush=True)
    return count
