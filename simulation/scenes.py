"""The lakes that are simulated: a day with peaks, and slots that everybody wants more of."""

from __future__ import annotations

import random

from arctic.optimizing.settings import OptimizeSettings
from arctic.service.scheduling.table_state import TableTerms
from simulation.model import HOUR_MS, MIB, SimTable

_QUOTAS = (0.25, 0.5, 0.75, 1.0)
_PEAK_HOURS = frozenset({9, 10, 15})
_PEAK_PACE = 4.0


def pace_of_a_day(now_ms: int) -> float:
    """Return how fast writers are: faster in three hours of a day."""
    return _PEAK_PACE if now_ms // HOUR_MS % 24 in _PEAK_HOURS else 1.0


def steady(now_ms: int) -> float:
    """Return the usual pace."""
    del now_ms
    return 1.0


def lake_of_a_day(tables: int, seed: int) -> list[SimTable]:
    """Return tables of which few are written much, and others are read much; some always fail."""
    chance = random.Random(seed)
    read_ranks = list(range(1, tables + 1))
    chance.shuffle(read_ranks)
    poisoned = set(chance.sample(range(tables), max(1, tables // 100)))
    return [
        SimTable(
            name=f"t{number:04}",
            commits_per_hour=max(0.1, 30 / (number + 1) ** 0.5),
            commit_bytes=chance.randint(2, 32) * MIB,
            base_bytes=chance.randint(1, 32) * 64 * MIB,
            terms=TableTerms(
                quota=0.5,
                min_interval_ms=60_000,
                reads_per_hour=600 / read_ranks[number] ** 1.2,
            ),
            settings=_settings(chance.random() < 0.1),
            is_poisoned=number in poisoned,
        )
        for number in range(tables)
    ]


def lake_of_more_work_than_slots(tables: int) -> list[SimTable]:
    """Return tables that are all due at every look, with different quotas."""
    return [
        SimTable(
            name=f"t{number:04}",
            commits_per_hour=400,
            commit_bytes=MIB // 64,
            base_bytes=7_500 * MIB,
            terms=TableTerms(quota=_QUOTAS[number % len(_QUOTAS)], min_interval_ms=60_000),
            settings=_settings(has_full=False),
        )
        for number in range(tables)
    ]


def _settings(has_full: bool) -> OptimizeSettings:
    interval = str(12 * HOUR_MS) if has_full else "-1"
    return OptimizeSettings.of(
        {},
        {
            "self-optimizing.full.trigger.interval": interval,
            "self-optimizing.minor.trigger.interval": str(4 * HOUR_MS),
        },
    )
