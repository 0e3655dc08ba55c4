"""The lakes that are simulated: a day with peaks, and slots that everybody wants more of."""

from __future__ import annotations

import random

from arctic.optimizing.settings import OptimizeSettings
from arctic.service.scheduling.table_state import TableTerms
from simulation.model import HOUR_MS, MIB, SimTable

_QUOTAS = (0.25, 0.5, 0.75, 1.0)
_PEAK_HOURS = frozenset({9, 10, 15})
MOST_PACE = 4.0
_MOST_READS_PER_HOUR = 600
_SPREAD = 0.5
"""Of what reads and tasks cost beside what is predicted: one deviation of its logarithm."""
_MINOR_MS, _FULL_MS = 4 * HOUR_MS, 12 * HOUR_MS


def pace_of_a_day(now_ms: int) -> float:
    """Return how fast writers are: faster in three hours of a day."""
    return MOST_PACE if now_ms // HOUR_MS % 24 in _PEAK_HOURS else 1.0


def steady(now_ms: int) -> float:
    """Return the usual pace."""
    del now_ms
    return 1.0


def lake_of_a_day(tables: int, seed: int, *, read_skew: float) -> list[SimTable]:
    """Return tables of which few are written much, and others are read much; some always fail.

    Of the reads of each a share is told to the service that differs from table to table, and is
    anything between none and all: nobody knows how often a table is read.

    Args:
        tables: how many.
        seed: of their luck.
        read_skew: the table of rank n is read 600 / n ** skew times an hour.
    """
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
            terms=TableTerms(quota=0.5, min_interval_ms=60_000),
            settings=_settings(has_full=chance.random() < 0.1),
            reads_per_hour=_MOST_READS_PER_HOUR / read_ranks[number] ** read_skew,
            told_share=chance.random(),
            is_poisoned=number in poisoned,
            read_factor=chance.lognormvariate(0, _SPREAD),
            work_factor=chance.lognormvariate(0, _SPREAD),
            # As if the day before had been another such day: not all are due at once.
            any_ms=-chance.randrange(_MINOR_MS),
            full_ms=-chance.randrange(_FULL_MS),
        )
        for number in range(tables)
    ]


def lake_of_more_work_than_slots(tables: int) -> list[SimTable]:
    """Return tables that are all due at every look, with different quotas."""
    return [
        SimTable(
            name=f"t{number:04}",
            commits_per_hour=150,
            commit_bytes=MIB // 24,
            base_bytes=7_500 * MIB,
            terms=TableTerms(quota=_QUOTAS[number % len(_QUOTAS)], min_interval_ms=60_000),
            settings=_settings(has_full=False, minor_files=2),
        )
        for number in range(tables)
    ]


def _settings(*, has_full: bool, minor_files: int = 12) -> OptimizeSettings:
    return OptimizeSettings.of(
        {},
        {
            "self-optimizing.full.trigger.interval": str(_FULL_MS) if has_full else "-1",
            "self-optimizing.minor.trigger.interval": str(_MINOR_MS),
            "self-optimizing.minor.trigger.file-count": str(minor_files),
        },
    )
