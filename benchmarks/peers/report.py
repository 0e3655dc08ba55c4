"""The figures as lines of text: the same for the terminal and for the page."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from benchmarks.peers.commands import COMMANDS, phases_of
from benchmarks.peers.environments import PEERS
from benchmarks.peers.inputs import BATCHES
from benchmarks.peers.result import Phase, SystemResult

MIB = 2**20
UPSERTS = tuple(f"upsert {number}" for number in range(1, BATCHES + 1))
WRITES = ("load", *UPSERTS, "delete")
READS = {
    "aggregate": "sums by status and region",
    "column_sum": "sum of one column",
    "key_range": "1 % of the keys, as a range",
    "lookup": "one key",
    "dump": "every column of every row",
}
STATES = ("unmerged", "compacted")
NOTHING = "-"
ON_SPARK = "Through Spark"
NEAR = 0.95
"""A system below this multiple of Arctic's time is ahead; nearer ones are alike."""

Timed: TypeAlias = tuple[str, Callable[[SystemResult], Phase | None]]
"""A label, and the figure of a system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Systems side by side; the first is Arctic, and the ratios are to it."""

    title: str
    systems: tuple[SystemResult, ...]


def comparisons(results: Sequence[SystemResult]) -> tuple[Comparison, ...]:
    """Divide systems by whether Spark runs them, in the order in which they are known."""
    found = {result.name: result for result in results}
    made = []
    for title, on_spark in ((ON_SPARK, True), ("Without Spark", False)):
        names = [peer.name for peer in PEERS if peer.on_spark == on_spark]
        systems = tuple(found[name] for name in names if name in found)
        if systems:
            made.append(Comparison(title=title, systems=systems))
    return tuple(made)


def table(comparison: Comparison) -> list[list[str]]:
    """Return a header and one line for each figure."""
    systems = comparison.systems
    lines = [["", *(system.name for system in systems)]]
    lines += [_times(label, systems, phase_of) for label, phase_of in _timed()]
    for label, names in (
        ("load", ("load",)),
        (f"{BATCHES} upserts", UPSERTS),
        ("delete", ("delete",)),
        ("compaction", ("compact",)),
    ):
        cells = [_written(system, names) for system in systems]
        lines.append([f"MiB written: {label}", *cells])
    lines.append(["peak MiB of memory: writes", *(_peak(system, WRITES) for system in systems)])
    reads = tuple(f"{what}, {state}" for what in READS for state in STATES)
    lines.append(["peak MiB of memory: reads", *(_peak(system, reads) for system in systems)])
    compaction = [_peak(system, ("compact",)) for system in systems]
    lines.append(["peak MiB of memory: compaction", *compaction])
    return lines


def behind(comparison: Comparison) -> list[str]:
    """Say by which figures a system that merges is ahead of Arctic; the worst first."""
    return _behind(comparison.systems, _timed())


def command_table(results: Sequence[SystemResult]) -> list[list[str]]:
    """Return a header and one line for each figure of commands in SQL; empty: nobody ran them."""
    found = {result.name: result for result in results}
    known = [found[peer.name] for peer in PEERS if peer.has_commands and peer.name in found]
    every = [name for command in COMMANDS for name in phases_of(command)]
    systems = tuple(system for system in known if any(name in system.phases for name in every))
    if not systems:
        return []
    lines = [["", *(system.name for system in systems)]]
    lines.append(_times("for comparison: upsert of a frame", systems, median_upsert))
    lines += [_times(label, systems, phase_of) for label, phase_of in _timed_commands()]
    for command in COMMANDS:
        names = phases_of(command)
        cells = [_written(system, names) for system in systems]
        lines.append([f"MiB written: {len(names)} times {command.name}", *cells])
    lines.append(["peak MiB of memory", *(_peak(system, every) for system in systems)])
    return lines


def commands_behind(results: Sequence[SystemResult]) -> list[str]:
    """Say by which commands a system is ahead of Arctic; the worst first."""
    on_spark = [each for each in comparisons(results) if each.title == ON_SPARK]
    return [line for each in on_spark for line in _behind(each.systems, _timed_commands())]


def remarks(results: Sequence[SystemResult]) -> list[str]:
    """Return one line for each system: whether its rows are right, and what failed."""
    lines = []
    for result in results:
        parts = [result.checked or "not checked"]
        reasons = dict.fromkeys(phase.reason for phase in result.phases.values())
        parts += [reason for reason in reasons if "has no" in reason]
        if result.failure:
            parts.append(f"did not finish: {result.failure}")
        lines.append(f"{result.name}: {'; '.join(parts)}")
    return lines


def commands_checked(result: SystemResult) -> str:
    """Return what is known of a system's rows after commands in SQL; empty: it ran none."""
    _, _, said = result.checked.partition("commands: ")
    return f"{result.name} {said}" if said else ""


def median_upsert(system: SystemResult) -> Phase | None:
    """Return the upserts as one phase; one that has no time stands for all."""
    return _median(system, UPSERTS)


def _timed() -> list[Timed]:
    """Return every time of the workload."""
    lines: list[Timed] = [
        ("first use", _phase("first use")),
        ("load", _phase("load")),
        (f"upsert, median of {BATCHES}", median_upsert),
        ("delete", _phase("delete")),
    ]
    for state in STATES:
        if state == "compacted":
            lines.append(("compaction", _phase("compact")))
        first = f"{next(iter(READS))}, {state}"
        lines.append((f"{state}: the first read of all", _cold(first)))
        lines += [
            (f"{state}: {label}", _phase(f"{what}, {state}")) for what, label in READS.items()
        ]
    return lines


def _timed_commands() -> list[Timed]:
    return [
        (f"{command.label}, median", partial(_median, names=phases_of(command)))
        for command in COMMANDS
    ]


def _behind(systems: Sequence[SystemResult], lines: Sequence[Timed]) -> list[str]:
    ours, *others = systems
    found = []
    for label, phase_of in lines:
        unit = _known(phase_of(ours)) if ours.name.startswith("arctic") else None
        for system in others:
            # What merges nothing is a limit, and no peer.
            taken = _known(phase_of(system)) if "merges nothing" not in system.checked else None
            if unit and taken is not None and taken / unit < NEAR:
                share = taken / unit
                found.append((share, f"{label}: {system.name} takes {ratio(share)} of its time"))
    return [text for _, text in sorted(found)]


def _known(phase: Phase | None) -> float | None:
    return None if phase is None else phase.seconds


def _median(system: SystemResult, names: Sequence[str]) -> Phase | None:
    phases = [system.phases[name] for name in names if name in system.phases]
    times = [phase.seconds for phase in phases if phase.seconds is not None]
    if len(times) < len(phases) or not times:
        return phases[-1] if phases else None
    return Phase(seconds=statistics.median(times))


def _phase(name: str) -> Callable[[SystemResult], Phase | None]:
    return lambda system: system.phases.get(name)


def _cold(name: str) -> Callable[[SystemResult], Phase | None]:
    def cold(system: SystemResult) -> Phase | None:
        phase = system.phases.get(name)
        return None if phase is None else Phase(seconds=phase.cold_seconds, reason=phase.reason)

    return cold


def _times(
    label: str, systems: Sequence[SystemResult], phase_of: Callable[[SystemResult], Phase | None]
) -> list[str]:
    ours = phase_of(systems[0]) if systems[0].name.startswith("arctic") else None
    unit = ours.seconds if ours is not None else None
    cells = []
    for system in systems:
        phase = phase_of(system)
        if phase is None or phase.seconds is None:
            reason = phase.reason if phase is not None else ""
            cells.append("none" if "has no" in reason else reason or NOTHING)
        elif unit is None or system is systems[0]:
            cells.append(_seconds(phase.seconds))
        else:
            cells.append(f"{_seconds(phase.seconds)} ({ratio(phase.seconds / unit)})")
    return [label, *cells]


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def ratio(value: float) -> str:
    """Return a multiple with two significant digits.

    >>> ratio(0.1234), ratio(1.26), ratio(34.5)
    ('0.12x', '1.3x', '34x')
    """
    if value < 1:
        return f"{value:.2f}x"
    return f"{value:.1f}x" if value < 10 else f"{value:.0f}x"


def _written(system: SystemResult, names: Sequence[str]) -> str:
    phases = [system.phases[name] for name in names if name in system.phases]
    if len(phases) < len(names) or any(phase.seconds is None for phase in phases):
        return NOTHING
    return f"{sum(phase.bytes_written for phase in phases) / MIB:,.1f}"


def _peak(system: SystemResult, names: Sequence[str]) -> str:
    peaks = [system.phases[name].peak_bytes for name in names if name in system.phases]
    return f"{max(peaks) / MIB:,.0f}" if any(peaks) else NOTHING
