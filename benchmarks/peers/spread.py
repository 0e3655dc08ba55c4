"""Figures with their spread: of each system the median, the range, and the multiple of Arctic's."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.environments import LIMITS
from benchmarks.peers.report import NEAR, NOTHING, ratio
from benchmarks.peers.result import SystemResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure of every system."""

    label: str
    times: tuple[tuple[float, ...], ...]
    """Of each system, in seconds; none where it has none."""
    one_of: str = ""
    """What it is one of many of, as the queries of a round; empty: it stands for itself."""


def times_of(system: SystemResult, names: Sequence[str]) -> tuple[float, ...]:
    """Return the times of phases, of a read each repeat; none where a phase has no time."""
    times: list[float] = []
    for name in names:
        phase = system.phases.get(name)
        if phase is None or phase.seconds is None:
            return ()
        times += phase.times or (phase.seconds,)
    return tuple(times)


def total_of(system: SystemResult, names: Sequence[str]) -> tuple[float, ...]:
    """Return the sum of the medians of phases, as the one time of a line."""
    phases = [system.phases.get(name) for name in names]
    times = [phase.seconds for phase in phases if phase is not None and phase.seconds is not None]
    return (sum(times),) if times and len(times) == len(phases) else ()


def spread_line(
    systems: Sequence[SystemResult], label: str, names: Sequence[str], *, one_of: str = ""
) -> Line:
    """Return the times of phases of every system as one line."""
    times = tuple(times_of(each, names) for each in systems)
    return Line(label=label, times=times, one_of=one_of)


def total_line(systems: Sequence[SystemResult], label: str, names: Sequence[str]) -> Line:
    """Return the sum of phases of every system as one line."""
    return Line(label=label, times=tuple(total_of(each, names) for each in systems))


def table_of(systems: Sequence[SystemResult], lines: Sequence[Line]) -> list[list[str]]:
    """Return a header and a line for each figure; ratios are to Arctic's, if it comes first."""
    found = [["seconds", *(system.name for system in systems)]]
    for line in lines:
        unit = _unit(systems, line)
        cells = []
        for system, times in zip(systems, line.times, strict=True):
            cell = _spread(times)
            if times and unit and system is not systems[0]:
                cell += f" {ratio(statistics.median(times) / unit)}"
            cells.append(cell)
        found.append([line.label, *cells])
    return found


def losses_of(systems: Sequence[SystemResult], lines: Sequence[Line]) -> list[str]:
    """Say of each figure by how much another system is ahead of Arctic; the worst first.

    Of lines that are some of many one loss tells: how many, from the worst on. A system that
    changes nothing is a limit, and no peer.
    """
    found = []
    many: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in lines:
        unit = _unit(systems, line)
        for system, times in zip(systems[1:], line.times[1:], strict=True):
            if not times or not unit or system.name in LIMITS:
                continue
            share = statistics.median(times) / unit
            if share < NEAR and line.one_of:
                many[line.one_of, system.name].append(share)
            elif share < NEAR:
                found.append((share, f"{line.label}: {system.name} takes {ratio(share)}"))
    for (what, name), shares in many.items():
        count = sum(line.one_of == what for line in lines)
        worst, least = ratio(min(shares)), ratio(max(shares))
        said = worst if worst == least else f"{worst} to {least}"
        found.append((min(shares), f"{len(shares)} of {count} {what}: {name} takes {said}"))
    return [f"{text} of its time" for _, text in sorted(found)]


def _unit(systems: Sequence[SystemResult], line: Line) -> float | None:
    if not systems or not systems[0].name.startswith("arctic") or not line.times[0]:
        return None
    return statistics.median(line.times[0])


def _spread(times: Sequence[float]) -> str:
    if not times:
        return NOTHING
    median = _seconds(statistics.median(times))
    return f"{median} ({_seconds(min(times))}..{_seconds(max(times))})" if times[1:] else median


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
