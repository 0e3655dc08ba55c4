"""What a day says about its scheduler, and what it must say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arctic.service.scheduling.ranks import SCHEDULERS
from simulation.day import Clockwork, Day
from simulation.model import SimTable
from simulation.scenes import (
    lake_of_a_day,
    lake_of_more_work_than_slots,
    pace_of_a_day,
    steady,
)

LONGEST_WAIT_MINUTES = {"quota": 300, "balanced": 180, "benefit": 180}
"""No table that could be worked on waits longer, peaks included. With `quota` one that has had its
share waits until that has left the window of four hours, and then for what goes before it."""
MOST_QUOTA_ERROR = 0.1
_CROWD_SLOTS = 2
_CROWD_HOURS = 12
_DAY_LOOK_MS, _CROWD_LOOK_MS = 900_000, 180_000


def quota_error(tables: Sequence[SimTable], used_ms: Mapping[str, int]) -> float:
    """Return by how much any table was given more or less than its quota, as a share of that."""
    all_ms = sum(used_ms.values())
    all_quotas = sum(table.terms.quota for table in tables)
    return max(
        abs(used_ms.get(table.name, 0) / all_ms * all_quotas / table.terms.quota - 1)
        for table in tables
    )


def simulate(*, tables: int, hours: float, slots: int, seed: int) -> Iterator[str]:
    """Live through a day with each scheduler, and say what is to be said; the last lines are bad.

    Yields:
        Lines; one that begins with ``BAD`` says what must not be.
    """
    bad: list[str] = []
    costs, wasted = dict[str, float](), dict[str, float]()
    yield f"{tables:,} tables, {slots} slots, {hours:g} virtual hours, seed {seed}"
    for name, scheduler in SCHEDULERS.items():
        lake = lake_of_a_day(tables, seed)
        day = Clockwork(
            lake,
            scheduler,
            slots=slots,
            pace=pace_of_a_day,
            look_ms=_DAY_LOOK_MS,
            seed=seed,
        ).run(hours)
        costs[name] = sum(table.read_seconds for table in lake)
        wasted[name] = sum(table.wasted_seconds for table in lake)
        yield f"{name:<9} {_line(day, costs[name], LONGEST_WAIT_MINUTES[name])}"
        bad += [f"BAD {name}: {each}" for each in _bad(day, lake, LONGEST_WAIT_MINUTES[name])]
        if name == "balanced":
            peaks = " ".join(f"{hour.lag_minutes:.0f}" for hour in day.hours)
            yield f"          minutes by which base is behind, hour by hour: {peaks}"
            yield f"          rest stretched: {' '.join(f'{h.stretched:.1f}' for h in day.hours)}"
    yield (
        f"read cost of benefit / balanced: {costs['benefit'] / costs['balanced']:.3f}; of what a "
        f"read after a full would not have spent: {wasted['benefit'] / wasted['balanced']:.3f}"
    )
    if wasted["benefit"] >= wasted["balanced"]:
        bad.append("BAD benefit: readers wait for more that a full would spare than with balanced")
    crowd = lake_of_more_work_than_slots(_CROWD_SLOTS * 40)
    crowded = Clockwork(
        crowd,
        SCHEDULERS["quota"],
        slots=_CROWD_SLOTS,
        pace=steady,
        look_ms=_CROWD_LOOK_MS,
        seed=seed,
    )
    day = crowded.run(_CROWD_HOURS)
    error = quota_error(crowd, day.used_ms)
    yield (
        f"quota, {len(crowd)} tables that all want more: greatest error {error:.1%}, "
        f"slots used {day.slots_used:.0%}"
    )
    if error >= MOST_QUOTA_ERROR:
        bad.append(f"BAD quota: error {error:.1%}; expected under {MOST_QUOTA_ERROR:.0%}")
    yield from bad


def _line(day: Day, cost: float, bound: int) -> str:
    return (
        f"longest wait {max(day.waits_ms) / 60_000:.0f} min (bound {bound}), "
        f"{sum(day.runs.values()):,} runs, {day.failures} failed, {day.deaths} executors died, "
        f"slots used {day.slots_used:.0%}, reads cost {cost / 3_600:,.1f} h"
    )


def _bad(day: Day, lake: Sequence[SimTable], bound: int) -> Iterator[str]:
    longest = max(day.waits_ms) / 60_000
    if longest > bound:
        yield f"a table waited {longest:.0f} min; expected {bound} at most"
    left = [each.name for each in lake if not each.is_poisoned and not day.runs.get(each.name)]
    if left:
        yield f"{len(left)} healthy tables were never optimized, such as {left[0]}"
