"""A peak: more work waits than the slots do in a quarter of an hour."""

from __future__ import annotations

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook
from arctic.service.scheduling.ranks import balanced
from arctic.service.scheduling.table_state import TableTerms

TERMS = TableTerms(quota=0.5, min_interval_ms=60_000)
FULL = Outlook(due=OptimizeType.FULL, work_bytes=2**40, saved_bytes=1)
HEAVY = Outlook(due=OptimizeType.MINOR, work_bytes=2**38, saved_bytes=1)
LIGHT = Outlook(due=OptimizeType.MINOR, work_bytes=2**20, saved_bytes=1)


def test_in_a_peak_fulls_wait_and_what_else_is_due_is_done() -> None:
    """With its end they are due as before."""
    group = Group(balanced, slots=1)
    group.looked("only_full", TERMS, FULL, NOTHING_DUE, 0)
    group.looked("both", TERMS, FULL, HEAVY, 1)

    assert group.stretched(1) > 1
    start = group.begin(1)
    assert start is not None
    assert (start.name, start.is_peak, start.outlook) == ("both", True, HEAVY)
    group.end_process("both", 2, is_good=True)

    assert group.stretched(2) == 1
    after = group.begin(2)
    assert after is not None
    assert (after.name, after.is_peak, after.outlook) == ("only_full", False, FULL)


def test_fulls_that_wait_are_no_peak() -> None:
    """It would never end: nothing that is begun in it makes them fewer."""
    group = Group(balanced, slots=4)
    group.looked("only_full", TERMS, FULL, NOTHING_DUE, 0)

    assert group.stretched(1) == 1
    start = group.begin(1)
    assert start is not None
    assert (start.name, start.is_peak, start.outlook) == ("only_full", False, FULL)


def test_a_full_takes_a_slot_that_would_be_idle_in_a_peak() -> None:
    """All that makes the peak rests longer, and waits."""
    group = Group(balanced, slots=1)
    group.looked("heavy", TERMS, HEAVY, HEAVY, 0)
    assert group.begin(0) is not None
    group.end_process("heavy", 1_000, is_good=True)
    group.looked("heavy", TERMS, HEAVY, HEAVY, 1_001)
    group.looked("only_full", TERMS, FULL, NOTHING_DUE, 1_002)
    now_ms = 1_000 + TERMS.min_interval_ms

    assert group.stretched(now_ms) > 1
    start = group.begin(now_ms)
    assert start is not None
    assert (start.name, start.is_peak, start.outlook) == ("only_full", False, FULL)
    assert group.begin(now_ms) is None
    group.end_process("only_full", now_ms + 1, is_good=True)
    assert group.begin(now_ms + 1) is None
    rested = group.begin(1_000 + 8 * TERMS.min_interval_ms)
    assert rested is not None
    assert (rested.name, rested.is_peak) == ("heavy", True)
