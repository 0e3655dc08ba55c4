"""Schedulers: what each prefers, and that nobody waits for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.outlook import Outlook
from arctic.service.scheduling.ranks import (
    LONGEST_WAIT_MS,
    SCHEDULERS,
    Candidate,
    balanced,
    benefit,
    quota,
    ranked,
)

NOW = 10 * LONGEST_WAIT_MS


def candidate(
    name: str = "t",
    *,
    work: int = 0,
    saved: int = 0,
    share: float = 0.5,
    reads: float = 1.0,
    served: int = NOW,
    waits: int = NOW,
    used: int = 0,
) -> Candidate:
    """Return a table that waits."""
    return Candidate(
        name=name,
        outlook=Outlook(due=OptimizeType.MINOR, work_bytes=work, saved_bytes=saved),
        quota=share,
        reads_per_hour=reads,
        served_ms=served,
        waits_since_ms=waits,
        used_ms=used,
    )


candidates = st.builds(
    candidate,
    st.sampled_from("abcdefgh"),
    work=st.integers(0, 2**40),
    saved=st.integers(0, 2**40),
    share=st.floats(0.01, 100),
    reads=st.floats(0, 1_000),
    served=st.integers(0, NOW),
    waits=st.integers(0, NOW),
    used=st.integers(0, NOW),
)
by_name = st.lists(candidates, min_size=1, unique_by=lambda each: each.name)


def _first(scheduler: str, waiting: Sequence[Candidate]) -> Candidate:
    return min(waiting, key=lambda each: ranked(SCHEDULERS[scheduler], each, NOW))


def test_quota_prefers_who_was_given_the_least_of_its_share() -> None:
    """Twice the time is as much for twice the share, half of the run counted that would begin."""
    assert quota(candidate(used=10, share=0.1), NOW) > quota(candidate(used=50, share=1), NOW)
    little, much = candidate(used=50, share=0.1), candidate(used=1_250, share=0.5)
    assert (little.outlook.work_ms, quota(little, NOW)) == (500, quota(much, NOW))
    assert quota(candidate(used=0, served=5), NOW) < quota(candidate(used=0, served=6), NOW)


def test_balanced_prefers_who_was_served_longest_ago() -> None:
    """Whatever it is worth, and however much it was given."""
    assert balanced(candidate(served=1, used=9), NOW) < balanced(candidate(served=2, saved=9), NOW)


def test_benefit_prefers_what_readers_gain_most_of_by_the_second() -> None:
    """More reads, more saved by each, less work for it."""
    plain = candidate(work=2**30, saved=2**30, reads=2)

    assert benefit(candidate(work=2**30, saved=2**30, reads=3), NOW) < benefit(plain, NOW)
    assert benefit(candidate(work=2**30, saved=2**31, reads=2), NOW) < benefit(plain, NOW)
    assert benefit(candidate(work=2**29, saved=2**30, reads=2), NOW) < benefit(plain, NOW)


def test_benefit_asks_no_more_what_a_table_is_worth_that_has_waited_for_long() -> None:
    """The one that has waited longest goes first; a moment less, and its worth counts."""
    worthless = candidate(saved=0, waits=NOW - LONGEST_WAIT_MS)
    longer = candidate(saved=0, waits=NOW - LONGEST_WAIT_MS - 1)
    precious = candidate(saved=2**50, waits=NOW - LONGEST_WAIT_MS + 1)

    assert benefit(longer, NOW) < benefit(worthless, NOW) < benefit(precious, NOW)


@pytest.mark.parametrize("scheduler", sorted(SCHEDULERS))
@given(waiting=by_name, seed=st.randoms())
def test_who_is_first_does_not_depend_on_the_order_of_asking(
    scheduler: str, waiting: list[Candidate], seed: object
) -> None:
    """Nor does anybody stand beside another: names decide between equals."""
    first = _first(scheduler, waiting)
    shuffled = list(waiting)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis's own Random

    assert _first(scheduler, shuffled) == first
    others = [each for each in waiting if each != first]
    assert all(
        ranked(SCHEDULERS[scheduler], each, NOW) > ranked(SCHEDULERS[scheduler], first, NOW)
        for each in others
    )


@given(waiting=by_name)
def test_quota_never_prefers_who_has_more_of_its_share(waiting: list[Candidate]) -> None:
    """Unless the run that it would begin is the shorter one by more than twice the difference."""
    first = _first("quota", waiting)

    for each in waiting:
        half = first.outlook.work_ms / 2 if first.used_ms else 0
        theirs = each.outlook.work_ms / 2 if each.used_ms else 0
        assert (first.used_ms + half) / first.quota <= (each.used_ms + theirs) / each.quota


@given(by_name, st.integers(1, 2**40), st.floats(0.01, 100))
def test_quota_lets_nobody_wait_who_was_given_nothing(
    waiting: list[Candidate], work: int, share: float
) -> None:
    """However much there is to do for it, and however small its share."""
    poor = candidate("poor", work=work, share=share, used=0, served=0)

    assert quota(poor, NOW) <= min(quota(each, NOW) for each in waiting)


@given(waiting=by_name)
def test_balanced_never_prefers_who_was_served_later(waiting: list[Candidate]) -> None:
    """Whatever there is to do, and whoever reads it."""
    assert _first("balanced", waiting).served_ms == min(each.served_ms for each in waiting)


@given(one=candidates, more=st.integers(1, 2**30), share=st.floats(0.01, 100))
def test_benefit_prefers_more_saved_and_less_work_and_no_share(
    one: Candidate, more: int, share: float
) -> None:
    """Of two that differ in one thing alone, and that have not waited for too long."""
    fresh = replace(one, waits_since_ms=NOW)
    saved, work = fresh.outlook.saved_bytes, fresh.outlook.work_bytes
    saving = replace(fresh, outlook=replace(fresh.outlook, saved_bytes=saved + more))
    working = replace(fresh, outlook=replace(fresh.outlook, work_bytes=work + more))
    read = replace(fresh, reads_per_hour=fresh.reads_per_hour + more)
    assert benefit(saving, NOW) <= benefit(fresh, NOW) <= benefit(working, NOW)
    assert benefit(read, NOW) <= benefit(fresh, NOW)
    assert benefit(replace(fresh, quota=share, used_ms=more), NOW) == benefit(fresh, NOW)


@given(waiting=by_name)
def test_benefit_begins_who_has_waited_too_long_before_all_others(
    waiting: list[Candidate],
) -> None:
    """Among those, who has waited longest."""
    held = [each for each in waiting if NOW - each.waits_since_ms >= LONGEST_WAIT_MS]
    first = _first("benefit", waiting)
    if held:
        assert first.waits_since_ms == min(each.waits_since_ms for each in held)
