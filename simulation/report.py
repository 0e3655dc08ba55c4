"""What a day says about its scheduler, and what it must say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arctic.service.scheduling.ranks import HELD_MS, SCHEDULERS, Scheduler
from simulation.day import Clockwork, Day
from simulation.model import SimTable
from simulation.scenes import (
    MOST_PACE,
    lake_of_a_day,
    lake_of_more_work_than_slots,
    pace_of_a_day,
    steady,
)

MOST_QUOTA_ERROR = 0.1
SCARCE = 0.02
"""Slots are scarce where waiting for one costs readers this share with `balanced`, of what they
spend beyond reads of tables right after a full."""
MOST_OF_BALANCED = 0.9
"""Of what waiting for slots costs readers with `balanced`, where they are scarce."""
_CROWD_OF_SLOT = 40
_CROWD_HOURS = 12
_REST_MS = 8 * 60_000 + 180_000
"""A peak lets a table rest longer, and a look is what shows it."""


def quota_error(tables: Sequence[SimTable], used_ms: Mapping[str, int]) -> float:
    """Return by how much any table was given more or less than its quota, as a share of that."""
    all_ms = sum(used_ms.values())
    all_quotas = sum(table.terms.quota for table in tables)
    return max(
        abs(used_ms.get(table.name, 0) / all_ms * all_quotas / table.terms.quota - 1)
        for table in tables
    )


def bound_minutes(scheduler: str, day: Day, slots: int) -> float:
    """Return how long a table may wait: for who is held before it, and one run of every other.

    Args:
        scheduler: its name.
        day: with the longest run of each table.
        slots: that the day began with; what executors that died were away is not counted.
    """
    round_ms = sum(day.longest_ms.values()) / slots
    return (HELD_MS[scheduler] + round_ms + _REST_MS) / 60_000


def simulate(
    *, tables: int, hours: float, slots: int, seed: int, read_skew: float
) -> Iterator[str]:
    """Live through a day with each scheduler, and say what is to be said; the last lines are bad.

    Yields:
        Lines; one that begins with ``BAD`` says what must not be.
    """

    def live(scheduler: Scheduler, slots: int) -> tuple[Day, list[SimTable]]:
        lake = lake_of_a_day(tables, seed, read_skew=read_skew)
        works = Clockwork(
            lake, scheduler, slots=slots, pace=pace_of_a_day, most_pace=MOST_PACE, seed=seed
        )
        return works.run(hours), lake

    bad: list[str] = []
    costs, wasted = dict[str, float](), dict[str, float]()
    yield f"{tables:,} tables, {slots} slots, {hours:g} virtual hours, seed {seed}"
    for name, scheduler in SCHEDULERS.items():
        day, lake = live(scheduler, slots)
        costs[name] = sum(table.read_seconds for table in lake)
        wasted[name] = sum(table.wasted_seconds for table in lake)
        bound = bound_minutes(name, day, slots)
        yield f"{name:<9} {_line(day, costs[name], bound)}"
        bad += [f"BAD {name}: {each}" for each in _bad(day, lake, bound)]
        if name == "balanced":
            peaks = " ".join(f"{hour.lag_minutes:.0f}" for hour in day.hours)
            yield f"          minutes by which base is behind, hour by hour: {peaks}"
            yield f"          rest stretched: {' '.join(f'{h.stretched:.1f}' for h in day.hours)}"
    _, free = live(SCHEDULERS["balanced"], tables)
    least = sum(table.wasted_seconds for table in free)
    waiting = {name: wasted[name] - least for name in wasted}
    yield (
        f"read cost of benefit / balanced: {costs['benefit'] / costs['balanced']:.4f}; of what is "
        f"beyond reads right after a full: {wasted['benefit'] / wasted['balanced']:.3f}"
    )
    yield "waiting for slots costs readers: " + ", ".join(
        f"{name} {each / 3_600:.2f} h ({each / least:.1%})" for name, each in waiting.items()
    )
    bad += _bad_benefit(waiting["benefit"], waiting["balanced"], least)
    if waiting["balanced"] > SCARCE * least and costs["benefit"] >= costs["balanced"]:
        bad.append("BAD benefit: all reads cost as much as with balanced; expected less")
    crowd = lake_of_more_work_than_slots(slots * _CROWD_OF_SLOT)
    quota = SCHEDULERS["quota"]
    works = Clockwork(crowd, quota, slots=slots, pace=steady, most_pace=1.0, seed=seed)
    day = works.run(_CROWD_HOURS)
    error = quota_error(crowd, day.used_ms)
    yield (
        f"quota, {len(crowd)} tables that all want more: greatest error {error:.1%}, "
        f"slots used {day.slots_used:.0%}"
    )
    if error >= MOST_QUOTA_ERROR:
        bad.append(f"BAD quota: error {error:.1%}; expected under {MOST_QUOTA_ERROR:.0%}")
    yield from bad


def _line(day: Day, cost: float, bound: float) -> str:
    fulls = f"fulls {max(day.fulls_ms) / 60_000:.0f} min, " if day.fulls_ms else ""
    return (
        f"longest wait {max(day.waits_ms) / 60_000:.0f} min (bound {bound:.0f}), {fulls}"
        f"{sum(day.runs.values()):,} runs, {day.failures} failed, {day.deaths} executors died, "
        f"slots used {day.slots_used:.0%}, reads cost {cost / 3_600:,.1f} h"
    )


def _bad(day: Day, lake: Sequence[SimTable], bound: float) -> Iterator[str]:
    longest = max(day.waits_ms) / 60_000
    if longest > bound:
        yield f"a table waited {longest:.0f} min; expected {bound:.0f} at most"
    left = [each.name for each in lake if not each.is_poisoned and not day.runs.get(each.name)]
    if left:
        yield f"{len(left)} healthy tables were never optimized, such as {left[0]}"


def _bad_benefit(benefit: float, balanced: float, least: float) -> Iterator[str]:
    most = MOST_OF_BALANCED * balanced if balanced > SCARCE * least else SCARCE * least
    if benefit > most:
        yield (
            f"BAD benefit: waiting for slots costs readers {benefit / 3_600:.2f} h; expected "
            f"{most / 3_600:.2f} h at most"
        )
