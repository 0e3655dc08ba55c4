"""The simulation: a short day without what must not be, and the same one again."""

from __future__ import annotations

from arctic.service.scheduling.ranks import SCHEDULERS
from arctic.service.scheduling.table_state import TableTerms
from simulation.day import Clockwork, Day
from simulation.model import HOUR_MS, MIB, SimTable
from simulation.report import bound_minutes, quota_error, simulate
from simulation.scenes import (
    MOST_PACE,
    lake_of_a_day,
    lake_of_more_work_than_slots,
    pace_of_a_day,
    steady,
)


def _day(scheduler: str, *, tables: int = 40, hours: float = 12) -> tuple[Day, list[SimTable]]:
    lake = lake_of_a_day(tables, 1, read_skew=1.2)
    works = Clockwork(
        lake,
        SCHEDULERS[scheduler],
        slots=2,
        pace=pace_of_a_day,
        most_pace=MOST_PACE,
        seed=1,
    )
    return works.run(hours), lake


def test_no_healthy_table_starves_though_some_fail_always_and_executors_die() -> None:
    """With each scheduler."""
    for scheduler in SCHEDULERS:
        day, lake = _day(scheduler)

        healthy = {table.name for table in lake if not table.is_poisoned}
        assert healthy <= day.runs.keys()
        assert not day.runs.keys() - healthy
        assert day.failures > 0
        assert day.deaths > 0
        assert max(day.waits_ms) / 60_000 <= bound_minutes(scheduler, day, 2)


def test_the_same_seed_gives_the_same_day_and_every_scheduler_the_same_reads() -> None:
    """So that a day that went wrong can be looked at, and two schedulers compared."""
    (first, lake), (again, _) = _day("benefit", hours=3), _day("benefit", hours=3)
    _, other = _day("balanced", hours=3)

    assert first == again
    assert [each.reads for each in lake] == [each.reads for each in other]
    assert sum(each.reads for each in lake) > 0


def test_where_slots_are_scarce_benefit_spares_readers_what_balanced_lets_them_wait() -> None:
    """By the share that the simulation asks for, of what waiting for slots costs at all."""
    lines = list(simulate(tables=150, hours=12, slots=1, seed=3, read_skew=1.2))

    assert [line for line in lines if line.startswith("BAD")] == []


def test_slots_that_everybody_wants_more_of_are_given_by_quota() -> None:
    """Each table within a tenth of its share."""
    crowd = lake_of_more_work_than_slots(40)
    works = Clockwork(crowd, SCHEDULERS["quota"], slots=1, pace=steady, most_pace=1.0, seed=1)

    day = works.run(12)

    assert day.slots_used > 0.9
    assert quota_error(crowd, day.used_ms) < 0.1


def test_a_run_leaves_what_was_committed_while_it_ran() -> None:
    """And a read after it costs less."""
    (table,) = lake_of_more_work_than_slots(1)
    table.terms = TableTerms(quota=1, min_interval_ms=0, reads_per_hour=1)
    for _ in range(400):
        table.commit(1)
    before, outlook = table.health(), table.outlook(2 * HOUR_MS, with_full=True)
    for _ in range(400):
        table.commit(2)

    assert outlook.due is not None
    table.optimized(outlook.due, 400, 2 * HOUR_MS)

    assert table.files == 400
    assert table.small_bytes == 400 * table.commit_bytes
    assert table.commit_bytes < MIB
    assert table.health().read_cost_bytes >= before.read_cost_bytes
    table.optimized(outlook.due, 400, 2 * HOUR_MS)
    assert table.health().read_cost_bytes < before.read_cost_bytes
