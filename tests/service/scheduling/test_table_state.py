"""Where a table stands after each event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook
from arctic.service.scheduling.table_state import Phase, TableState, TableTerms
from arctic.service.scheduling.tries import Wait

MINUTE = 60_000
AHEAD = 600 * MINUTE
TERMS = TableTerms(quota=0.5, min_interval_ms=MINUTE)
MINOR = Outlook(due=OptimizeType.MINOR, work_bytes=1, saved_bytes=1)
FULL = Outlook(due=OptimizeType.FULL, work_bytes=9, saved_bytes=9)


def due(now_ms: int = 0) -> TableState:
    """Return a table where a minor has been due since a time."""
    met = TableState(name="t", terms=TERMS, met_ms=now_ms)
    return met.looked(TERMS, MINOR, MINOR, now_ms)


def retry(state: TableState) -> int:
    """Return when a table is tried again."""
    assert state.tries.wait is not None
    return state.tries.wait.until_ms


def test_a_table_is_pending_from_the_look_that_found_something_due() -> None:
    """Later looks that find it still due do not make it younger."""
    state = due(5).looked(TERMS, FULL, MINOR, 90)

    assert state.phase(90, stretched=1) is Phase.PENDING
    assert state.waits_since_ms(90) == 5
    assert state.looked(TERMS, NOTHING_DUE, NOTHING_DUE, 99).phase(99, stretched=1) is Phase.IDLE


def test_a_table_rests_between_two_runs_and_longer_in_a_peak() -> None:
    """Its wait counts from the end of the rest that it asked for."""
    state = due().started().succeeded(1_000).looked(TERMS, MINOR, MINOR, 2_000)

    assert state.phase(1_000 + MINUTE - 1, stretched=1) is Phase.RESTING
    assert state.phase(1_000 + MINUTE, stretched=1) is Phase.PENDING
    assert state.phase(1_000 + 3 * MINUTE - 1, stretched=3) is Phase.RESTING
    assert state.phase(1_000 + 3 * MINUTE, stretched=3) is Phase.PENDING
    assert state.waits_since_ms(1_000 + MINUTE) == 1_000 + MINUTE


def test_failures_double_the_wait_up_to_an_hour_and_a_success_ends_it() -> None:
    """A table that always fails takes one run an hour."""
    state, now, waits = due(), 0, []
    for _ in range(9):
        state = state.started().failed(now)
        again = retry(state)
        waits.append((again - now) // MINUTE)
        assert state.phase(again - 1, stretched=1) is Phase.BACKING_OFF
        assert state.phase(again, stretched=1) is Phase.PENDING
        now = again

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert retry(state.started().succeeded(now).started().failed(now)) == now + MINUTE


def test_what_failed_while_the_catalog_was_away_is_tried_at_once() -> None:
    """What failed before backs off as it did."""
    state = due().started().failed(0).started().failed(MINUTE)
    assert state.phase(2 * MINUTE, stretched=1) is Phase.BACKING_OFF

    assert state.forgiven(MINUTE).phase(2 * MINUTE, stretched=1) is Phase.PENDING
    assert retry(state.forgiven(MINUTE).started().failed(MINUTE)) == 2 * MINUTE
    assert state.forgiven(MINUTE + 1) == state


def test_a_blocked_table_is_not_pending_until_its_time_is_over() -> None:
    """And was not waiting meanwhile."""
    state = due().started().blocked(Wait(since_ms=0, for_ms=500))

    assert state.phase(499, stretched=1) is Phase.BLOCKED
    assert state.phase(500, stretched=1) is Phase.PENDING
    assert state.waits_since_ms(500) == 500
    assert state.blocked(None).phase(0, stretched=1) is Phase.PENDING


@pytest.mark.parametrize(
    "state",
    [
        due(AHEAD).started().succeeded(AHEAD).looked(TERMS, MINOR, MINOR, AHEAD),
        due(AHEAD).started().failed(AHEAD),
        due(AHEAD).started().postponed(Wait(since_ms=AHEAD, for_ms=10 * MINUTE)),
        due(AHEAD).started().blocked(Wait(since_ms=AHEAD, for_ms=10 * MINUTE)),
    ],
    ids=["rested", "failed", "cancelled", "blocked"],
)
def test_a_clock_that_is_set_back_keeps_no_table_from_being_worked_on(state: TableState) -> None:
    """What it waited for had begun hours ahead; it counts as waiting from the next look on."""
    assert state.phase(AHEAD, stretched=1) is not Phase.PENDING
    seen = state.looked(TERMS, MINOR, MINOR, 7)

    assert seen.phase(7, stretched=1) is Phase.PENDING
    assert seen.waits_since_ms(7) == 7
    assert seen.waits_since_ms(MINUTE) == 7
    assert seen.served_ms(7) <= 7


def test_in_a_peak_a_full_is_put_off_and_a_minor_is_not() -> None:
    """Where nothing but the full is due, the table waits for the end of the peak."""
    met = TableState(name="t", terms=TERMS, met_ms=0)

    assert met.looked(TERMS, FULL, NOTHING_DUE, 0).phase(0, stretched=2) is Phase.IDLE
    assert met.looked(TERMS, FULL, NOTHING_DUE, 0).phase(0, stretched=1) is Phase.PENDING
    assert met.looked(TERMS, FULL, MINOR, 0).phase(0, stretched=2) is Phase.PENDING


def test_a_table_was_served_when_anybody_last_optimized_it() -> None:
    """Also before this service began; and a clock that was wrong puts no table last for ever."""
    met = TableState(name="t", terms=TERMS, met_ms=100 * MINUTE)
    now = 110 * MINUTE

    def told(optimized_ms: int) -> TableState:
        terms = replace(TERMS, optimized_ms=optimized_ms)
        return met.looked(terms, MINOR, MINOR, now)

    assert met.served_ms(now) == 100 * MINUTE
    assert told(7).served_ms(now) == 7
    assert told(7).started().failed(now - 3).served_ms(now) == now - 3
    assert told(now - 1).started().failed(now - 3).served_ms(now) == now - 1
    assert told(now + MINUTE).served_ms(now) == now - MINUTE
