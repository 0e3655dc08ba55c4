"""Figures with their spread: of each system the median, the range, and the multiple of Arctic's."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.report import NEAR, NOTHING, ratio
from benchmarks.peers.result import SystemResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One figure of every system."""

    label: str
    times: tuple[tuple[float, ...], ...]
    """Of each system, in seconds; none where it has none."""


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
    """Say of each figure by how much another system is ahead of Arctic; the worst first."""
    found = []
    for line in lines:
        unit = _unit(systems, line)
        for system, times in zip(systems[1:], line.times[1:], strict=True):
            share = statistics.median(times) / unit if times and unit else 1.0
            if share < NEAR:
                text = f"{line.label}: {system.name} takes {ratio(share)} of its time"
                found.append((share, text))
    return [text for _, text in sorted(found)]


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
