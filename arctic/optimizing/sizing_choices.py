"""What a table chose for itself, said for people: each value, what it is from, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arctic import options as opt
from arctic.scan.explain import counted, size_text
from arctic.table.expiry import duration_text
from arctic.table.table_sizing import (
    LEAST_RUNS,
    MOST_FILES,
    RUNS_A_REST,
    RUNS_AN_INTERVAL,
    TableSizing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingChoice:
    """One setting that no property states."""

    name: str
    value: str
    source: str
    """What was measured, or that nothing was yet."""
    why: str


def sizing_choices(properties: Mapping[str, str]) -> tuple[SizingChoice, ...]:
    """Return what a table goes by because it chose so.

    Args:
        properties: of the table; what one of them states is not chosen.

    Raises:
        FormatError: what the table remembers cannot be read.
    """
    given = {name.lower() for name in properties}
    choices = _choices(TableSizing.of(properties))
    return tuple(each for each in choices if each.name.lower() not in given)


def _choices(sizing: TableSizing) -> Iterator[SizingChoice]:
    yield SizingChoice(
        name=opt.OPTIMIZE_TARGET_SIZE.name,
        value=size_text(sizing.target_bytes),
        source=f"measured: base held {size_text(sizing.base_bytes)} at the last run"
        if sizing.base_bytes
        else "default, until a run has measured base",
        why=f"So that base is of some {MOST_FILES:,} files at most; more take long to plan.",
    )
    usual = sizing.usual_ms
    source = f"default, until {LEAST_RUNS} runs are measured"
    if usual is not None:
        last = f"the last {counted(len(sizing.run_ms), 'run')} but fulls"
        source = f"measured: {usual / 1_000:.1f} s, the median of {last}"
    yield SizingChoice(
        name=opt.MINOR_INTERVAL.name,
        value=duration_text(sizing.minor_interval_ms),
        source=source,
        why=f"So that it is {RUNS_AN_INTERVAL} times a run, from 30 minutes to 4 hours: cheap runs "
        "keep base fresh, dear ones wait for more changes.",
    )
    yield SizingChoice(
        name=opt.MIN_PLAN_INTERVAL.name,
        value=duration_text(sizing.rest_ms),
        source=source,
        why=f"So that it is {RUNS_A_REST} times a run, from a minute to 16: runs take a fifth of "
        "the time at most.",
    )
