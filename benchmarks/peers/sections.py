"""``docs/benchmarks.md`` by sections: each command writes its own, and all others stay."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.peers.environments import ROOT
from benchmarks.peers.reasons import REASONS
from benchmarks.peers.result import SystemResult

PAGE = ROOT / "docs" / "benchmarks.md"
BEHIND = "Where Arctic is behind"
DRIFT = "Over many commits"
TPCH = "TPC-H with its refreshes"
CH = "CH-benCHmark on a mirror"
OTHERS = (DRIFT, TPCH, CH)
"""Sections that other commands than ``make bench-peers`` write."""

_MARK = "\n## "
_NONE = "- None."
_ABOUT = """Every figure of this page by which another system that merges is at least 5 % faster,
first of all; the time is a multiple of Arctic's. Each command writes its own lines when it writes
its section."""


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table; its first line is the header, and numbers stand at the right."""
    head, *body = lines
    rule = ["---"] + ["--:" if len(head) > 2 else "---"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body])


def measured(note: str) -> str:
    """Return when and on what something was measured, in one line."""
    memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    machine = f"{os.cpu_count()} cores{_processor()}, {memory}, {platform.system()}"
    noted = f" ({note})" if note else ""
    today = datetime.now(timezone.utc).date().isoformat()
    return f"{today}, commit {_commit()}, on {machine}{noted}"


def versions(results: Sequence[SystemResult]) -> str:
    """Return the versions of every system, in one line."""
    parts = []
    for result in results:
        names = ", ".join(f"{name} {value}" for name, value in result.versions.items())
        parts.append(f"{result.name}: {names}")
    return "; ".join(parts)


def outcome(systems: Sequence[SystemResult], table: str, said: Sequence[str], *, note: str) -> str:
    """Return the end of a section whose table is of medians: when, the table, checks, versions.

    Args:
        systems: that were measured.
        table: its text; what is to be seen with it may follow.
        said: a line each.
        note: about the machine.
    """
    checks = "\n".join(f"- {line}" for line in said)
    return f"""Measured on {measured(note)}. Each cell is the median, in brackets the range, and the
multiple of Arctic's median.

{table}

{checks}

Versions: {versions(systems)}.
"""


def with_section(text: str, title: str, body: str) -> str:
    """Return a page with this section: in the place of an older one, or before the checks."""
    parts = text.split(_MARK)
    section = f"{title}\n\n{body.strip()}\n"
    titles = [part.partition("\n")[0] for part in parts]
    if title in titles:
        place = titles.index(title)
        return _MARK.join([*parts[:place], section, *parts[place + 1 :]])
    place = next((i for i, each in enumerate(titles) if each.startswith("Are the")), len(parts))
    return _MARK.join([*parts[:place], section, *parts[place:]])


def with_losses(text: str, title: str, losses: Sequence[str]) -> str:
    """Return a page whose first section has these lines of a benchmark, and those of others."""
    parts = text.split(_MARK)
    old = next((part for part in parts if part.startswith(BEHIND)), "")
    lines = [line for line in old.splitlines() if line.startswith("- ") and line != _NONE]
    lines = [line for line in lines if not line.startswith(f"- {title}: ")]
    lines += [f"- {title}: {loss}" for loss in losses]
    section = "\n".join([BEHIND, "", _ABOUT, "", *(lines or [_NONE]), "", REASONS, ""])
    kept = [part for part in parts[1:] if not part.startswith(BEHIND)]
    return _MARK.join([parts[0], section, *kept])


def with_others(text: str, old: str) -> str:
    """Return a page that is written anew, with the sections of other commands as they were."""
    for part in old.split(_MARK)[1:]:
        title, _, body = part.partition("\n")
        if title in OTHERS:
            text = with_section(text, title, body)
        if title == BEHIND:
            for other in OTHERS:
                mark = f"- {other}: "
                lines = [line for line in body.splitlines() if line.startswith(mark)]
                text = with_losses(text, other, [line.removeprefix(mark) for line in lines])
    return text


def write_section(title: str, body: str, losses: Sequence[str]) -> None:
    """Write a section of the page, and its losses."""
    text = with_section(PAGE.read_text(), title, body)
    PAGE.write_text(with_losses(text, title, losses))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f" of {names[0]}" if names else ""


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
