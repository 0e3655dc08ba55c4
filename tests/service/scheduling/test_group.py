"""A group as a whole: nobody starves, poison stays alone, one process a table."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import Outlook
from arctic.service.scheduling.ranks import HELD_MS, SCHEDULERS
from arctic.service.scheduling.table_state import TableTerms
from arctic.service.scheduling.task_queue import TaskKey
from arctic.service.scheduling.tries import Wait

WORK_MS = 60_000


def look(group: Group, table: int, quota: float, now_ms: int, *, worth: int = 1) -> None:
    """Find a minor due in a table."""
    outlook = Outlook(due=OptimizeType.MINOR, work_bytes=1, saved_bytes=worth)
    terms = TableTerms(quota=quota, min_interval_ms=0)
    group.looked(f"t{table}", terms, outlook, outlook, now_ms)


def _work(
    group: Group, quotas: list[float], *, poisoned: set[int], hours: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Let every table always be due; return the slot time and the longest gap of each."""
    given_ms = dict.fromkeys((f"t{n}" for n in range(len(quotas))), 0)
    last, gaps = dict.fromkeys(given_ms, 0), dict.fromkeys(given_ms, 0)
    free, running = [f"e{n}" for n in range(group.slots)], list[tuple[int, str, TaskKey]]()
    for number, quota in enumerate(quotas):
        look(group, number, quota, 0, worth=10**number)
    now = 0
    while now < hours * 3_600_000:
        while free:
            start = group.begin(now)
            if start is None:
                break
            group.planned(start.name, [1])
            executor = free.pop()
            key = group.take(executor, now)
            assert key is not None
            assert all(each.table != start.name for _, _, each in running)
            heapq.heappush(running, (now + WORK_MS, executor, key))
        if not running:
            now += WORK_MS
            continue
        now, executor, key = heapq.heappop(running)
        name, number = key.table, int(key.table[1:])
        ended = group.end_task(executor, key, now, is_good=number not in poisoned)
        assert ended is not None
        free.append(executor)
        group.end_process(name, now, is_good=ended.is_good)
        given_ms[name] += ended.used_ms
        gaps[name], last[name] = max(gaps[name], now - last[name]), now
        look(group, number, quotas[number], now, worth=10**number)
    return given_ms, {name: max(gap, now - last[name]) for name, gap in gaps.items()}


@pytest.mark.parametrize("scheduler", sorted(SCHEDULERS))
@settings(max_examples=10)
@given(tables=st.integers(2, 12), slots=st.integers(1, 3), poisoned=st.sets(st.integers(0, 11)))
def test_no_table_starves_and_a_poisoned_one_stops_nobody(
    scheduler: str, tables: int, slots: int, poisoned: set[int]
) -> None:
    """Every healthy table is served in time, though all are due always and many fail always.

    That is after who is held before it, and one run of every other.
    """
    group = Group(SCHEDULERS[scheduler], slots=slots)
    _, gaps = _work(group, [0.5] * tables, poisoned=poisoned, hours=9)

    rounds = (tables // slots + 2) * 2 * WORK_MS
    healthy = [gap for name, gap in gaps.items() if int(name[1:]) not in poisoned]
    assert all(0 < gap <= HELD_MS[scheduler] + rounds for gap in healthy)


@settings(max_examples=8)
@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5]), min_size=3, max_size=8))
def test_slot_time_follows_the_quotas_where_all_want_more(quotas: list[float]) -> None:
    """Within what one run of each makes of a window."""
    group = Group(SCHEDULERS["quota"], slots=1)
    given_ms, _ = _work(group, quotas, poisoned=set(), hours=8)

    total = sum(given_ms.values())
    shares = [given_ms[f"t{n}"] / total - q / sum(quotas) for n, q in enumerate(quotas)]
    assert max(map(abs, shares)) < 0.05


def test_nobody_is_planned_while_tasks_wait_or_every_slot_has_a_process() -> None:
    """A plan that waits for its turn grows old."""
    group = Group(SCHEDULERS["balanced"], slots=2)
    for number in range(3):
        look(group, number, 0.5, number)

    first = group.begin(10)
    assert first is not None
    assert first.name == "t0"
    group.planned("t0", [1, 1, 1])
    assert group.begin(10) is None
    keys = [group.take(each, 10) for each in "xyz"]
    second = group.begin(10)
    assert second is not None
    assert second.name == "t1"
    assert group.begin(10) is None
    for executor, key in zip("xyz", keys, strict=True):
        assert key is not None
        group.end_task(executor, key, 20, is_good=True)
    group.end_process("t0", 20, is_good=True)
    third = group.begin(20)
    assert third is not None
    assert third.name == "t2"


def test_a_blocked_process_gives_its_room_back() -> None:
    """Where another service has the table, the next table is taken."""
    group = Group(SCHEDULERS["balanced"], slots=1)
    look(group, 0, 0.5, 0)
    look(group, 1, 0.5, 1)
    start = group.begin(5)
    assert start is not None

    group.block("t0", Wait(since_ms=5, for_ms=995))

    following = group.begin(5)
    assert following is not None
    assert following.name == "t1"
    group.end_process("t1", 6, is_good=True)
    assert group.begin(999) is None
    again = group.begin(1_000)
    assert again is not None
    assert again.name == "t0"


def test_a_dead_executor_gives_its_task_to_the_next() -> None:
    """And its time counts, for the slot was taken."""
    group = Group(SCHEDULERS["quota"], slots=1)
    look(group, 0, 0.5, 0)
    assert group.begin(0) is not None
    group.planned("t0", [1])
    key = group.take("x", 0)

    (lost,) = group.lose("x", 7)

    assert (lost.used_ms, lost.process_over) == (7, False)
    assert group.take("y", 8) == key


def test_a_forgotten_table_is_not_begun() -> None:
    """Dropped tables leave nothing behind."""
    group = Group(SCHEDULERS["benefit"], slots=1)
    look(group, 0, 0.5, 0)
    group.forget("t0")

    assert group.begin(1) is None
    assert group.state("t0") is None
    assert group.longest_wait_ms(1) == 0


def test_a_process_that_hangs_before_its_tasks_keeps_its_room_for_ten_minutes_only() -> None:
    """One whose task is at work keeps it, however long that takes."""
    group = Group(SCHEDULERS["balanced"], slots=1)
    for number in range(3):
        look(group, number, 0.5, number)
    hangs = group.begin(5)
    assert hangs is not None
    assert group.begin(599_999) is None

    following = group.begin(600_005)
    assert following is not None
    assert following.name == "t1"
    group.planned("t1", [1])
    assert group.take("x", 600_005) is not None
    assert group.begin(9_000_000) is None


def test_a_table_that_something_else_is_done_with_is_begun_when_that_has_ended() -> None:
    """Others are begun meanwhile; nothing need let it go on."""
    group = Group(SCHEDULERS["balanced"], slots=2)
    look(group, 0, 0.5, 0)
    look(group, 1, 0.5, 1)

    first = group.begin(5, {"t0": "publish"})
    assert first is not None
    assert first.name == "t1"
    assert group.begin(5, {"t0": "publish"}) is None
    second = group.begin(5, {})
    assert second is not None
    assert second.name == "t0"


def test_a_process_of_before_the_clock_was_set_back_takes_no_room_for_ever() -> None:
    """It may hang; nothing was heard of it for hours, by either clock."""
    group = Group(SCHEDULERS["balanced"], slots=1)
    ahead = 10 * 3_600_000
    look(group, 0, 0.5, ahead)
    look(group, 1, 0.5, ahead)
    assert group.begin(ahead) is not None
    assert group.begin(ahead) is None

    assert group.begin(0) is not None
