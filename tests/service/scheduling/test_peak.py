"""A peak: more work waits than the slots do in a quarter of an hour."""

from __future__ import annotations

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook
from arctic.service.scheduling.ranks import balanced
from arctic.service.scheduling.table_state import TableTerms

TERMS = TableTerms(quota=0.5, min_interval_ms=60_000)
HEAVY = Outlook(due=OptimizeType.FULL, work_bytes=2**40, saved_bytes=1)
LIGHT = Outlook(due=OptimizeType.MINOR, work_bytes=2**20, saved_bytes=1)


def test_in_a_peak_fulls_wait_and_what_else_is_due_is_done() -> None:
    """With its end they are due as before."""
    group = Group(balanced, slots=1)
    group.looked("only_full", TERMS, HEAVY, NOTHING_DUE, 0)
    group.looked("both", TERMS, HEAVY, LIGHT, 1)

    assert group.stretched(1) > 1
    start = group.begin(1)
    assert start is not None
    assert (start.name, start.is_peak, start.outlook) == ("both", True, LIGHT)
    group.end_process("both", 2, is_good=True)
    assert group.begin(2) is None

    group.looked("only_full", TERMS, LIGHT, LIGHT, 3)
    after = group.begin(3)
    assert group.stretched(3) == 1
    assert after is not None
    assert (after.name, after.is_peak) == ("only_full", False)
