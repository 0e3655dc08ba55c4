"""Histories of a test, dealt into parts that each have a seed and a process of their own.

So a part that fails is run again by itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """What became of a part."""

    histories: int
    """As they were counted; 0: a table was another one."""
    drawn: Mapping[str, int]
    """How often each case occurred that the tests name."""


def live_all(
    files: Mapping[str, str],
    *,
    shares: Mapping[str, int],
    histories: int,
    seed: int,
    part: int,
    workers: int,
) -> list[Part]:
    """Live the lives, print a line for each part and kind, and return the parts that failed.

    Args:
        files: the tests by what they are called.
        shares: of the histories, by the same names.
        histories: of all kinds together.
        seed: of the first part of each kind; the others follow it.
        part: histories of one process, at most.
        workers: processes at a time.
    """
    parts = parts_of(shares, histories, seed, part)
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda each: live(each, files[each.kind]), parts)
        lived = dict(zip(parts, found, strict=True))
    failed = [part for part in parts if not lived[part].histories]
    for kind in files:
        own = [lived[part] for part in parts if part.kind == kind]
        equal = "all equal" if all(each.histories for each in own) else "the others DIFFER"
        print(f"{kind}: {sum(each.histories for each in own):,} histories, {equal}")
        drawn: Counter[str] = Counter()
        for each in own:
            drawn.update(each.drawn)
        print("   ", "; ".join(_told(case, count) for case, count in drawn.items()), flush=True)
    return failed


def _told(case: str, count: int) -> str:
    return f"{case} {count:,}" if count else f"{case} NEVER"


def parts_of(shares: Mapping[str, int], histories: int, seed: int, part: int) -> list[Part]:
    """Deal histories over kinds by their shares, and into parts with seeds that follow each other.

    Args:
        shares: of each kind, any whole numbers.
        histories: of all kinds together.
        seed: of the first part of each kind.
        part: histories of one part, at most.
    """
    parts, dealt, passed = [], 0, 0
    for kind, share in shares.items():
        passed += share
        left = histories * passed // sum(shares.values()) - dealt
        dealt += left
        number = seed
        while left > 0:
            parts.append(Part(kind=kind, seed=number, histories=min(left, part)))
            left -= part
            number += 1
    # Of each kind some early: a mistake in one is seen soon.
    return sorted(parts, key=lambda each: each.seed)


def live(part: Part, file: str) -> Lived:
    """Live through a part in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--hypothesis-seed={part.seed}"]
    command.append("--hypothesis-show-statistics")
    with tempfile.TemporaryDirectory(prefix="arctic-drawn-") as folder:
        counts = Path(folder, "drawn.json")
        known = {
            "HYPOTHESIS_PROFILE": "deep",
            "ARCTIC_HISTORIES": str(part.histories),
            # A part's seeds are its own, also where a test counts them itself.
            "ARCTIC_FIRST_SEED": str(part.seed * 1_000),
            "ARCTIC_DRAWN": str(counts),
        }
        found = subprocess.run(
            [*command, "-o", "faulthandler_timeout=0", file],
            cwd=_ROOT,
            env={**os.environ, **known},
            capture_output=True,
            text=True,
        )
        drawn = json.loads(counts.read_text()) if counts.exists() else {}
    ok = found.returncode == 0
    told = _EXAMPLES.findall(found.stdout) or _PASSED.findall(found.stdout)
    count = sum(map(int, told)) if ok else 0
    said = "equal" if ok else f"DIFFERS\n{found.stdout}{found.stderr}"
    print(f"{part.kind} --seed {part.seed}: {count} histories, {said}", flush=True)
    return Lived(histories=count, drawn=drawn)
