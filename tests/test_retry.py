"""Trying again: as often as allowed, no longer than allowed, and only what passes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from arctic.retry import Patience, RetryPolicy, Turn, Turns


def failing(times: int, error: Exception, calls: list[int]) -> Callable[[], str]:
    """Return a step that fails so many times."""

    def step() -> str:
        calls.append(len(calls))
        if len(calls) <= times:
            raise error
        return "done"

    return step


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_step_is_tried_until_it_is_done(times: int) -> None:
    """And no more often."""
    calls: list[int] = []
    step = failing(times, ValueError("in the way"), calls)

    assert RetryPolicy(retries=3).run(step, on=ValueError) == "done"
    assert len(calls) == times + 1


def test_the_last_failure_is_told() -> None:
    """As it was raised."""
    calls: list[int] = []
    with pytest.raises(ValueError, match="in the way"):
        RetryPolicy(retries=3).run(failing(9, ValueError("in the way"), calls), on=ValueError)
    assert len(calls) == 4


def test_what_does_not_pass_is_not_tried_again() -> None:
    """Neither another error, nor one of the kind that the caller knows better."""
    calls: list[int] = []
    policy = RetryPolicy(retries=3)
    with pytest.raises(KeyError):
        policy.run(failing(9, KeyError("x"), calls), on=ValueError)
    with pytest.raises(ValueError, match="for good"):
        policy.run(failing(9, ValueError("for good"), calls), on=ValueError, if_=lambda _: False)
    assert len(calls) == 2


def test_waits_double_up_to_a_limit_and_are_random() -> None:
    """So that those who met once do not meet again."""
    policy = RetryPolicy(retries=50, min_wait_ms=20, max_wait_ms=1000)
    for attempt in (0, 3, 200):
        limit = min(1.0, 0.02 * 2 ** min(attempt, 30))
        waits = [policy.wait_seconds(attempt) for _ in range(100)]
        assert 0 <= min(waits) < max(waits) <= limit


def test_a_deadline_ends_tries_that_are_left() -> None:
    """The first one is always made, however late it is."""
    started = time.monotonic()
    policy = RetryPolicy(retries=10_000, min_wait_ms=20, max_wait_ms=20, total_ms=50)

    assert 1 <= len(list(policy.tries())) < 10_000
    assert time.monotonic() - started < 5
    assert list(RetryPolicy(retries=0, total_ms=0).tries()) == [0]


def test_there_is_no_wait_after_the_last_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gives up says so at once."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)

    assert list(RetryPolicy(retries=2, min_wait_ms=1, max_wait_ms=1).tries()) == [0, 1, 2]
    assert len(waits) == 2


def test_some_retries_are_made_whatever_the_time_is() -> None:
    """The others only while there is time."""
    slow = RetryPolicy(retries=9, total_ms=0, sure_retries=4)
    made = []
    for number in slow.tries():
        made.append(number)
        time.sleep(0.001)
    assert made == [0, 1, 2, 3, 4]
    quick = RetryPolicy(retries=9, total_ms=60_000, sure_retries=4)
    assert list(quick.tries()) == list(range(10))


def test_who_has_the_turn_has_it_for_all_that_wait() -> None:
    """As many as are allowed, whoever wakes first; each thing has a line of its own."""
    turns: Turns[str] = Turns()
    seen: dict[str, Turn[str]] = {}

    def take(item: str) -> None:
        with turns.turn("thing", item, most=3) as turn:
            seen[item] = turn

    with ThreadPoolExecutor(4) as pool, turns.turn("thing", "first", most=1) as first:
        for count, item in enumerate("abcd", 1):
            pool.submit(take, item)
            while len(turns._lines["thing"].waiting) < count:
                time.sleep(0.001)
        with turns.turn("another", "x", most=1) as other:
            assert other == Turn(items=("x",), waited=False)
    assert first == Turn(items=("first",), waited=False)
    assert sorted(len(turn.items) for turn in seen.values()) == [0, 0, 1, 3]
    assert sorted(item for turn in seen.values() for item in turn.items) == list("abcd")
    assert all(item in turn.items for item, turn in seen.items() if turn.items)
    assert all(turn.waited for turn in seen.values())
    assert not turns._lines


def test_a_thread_does_not_wait_for_itself() -> None:
    """What it does in its turn may want the same thing again."""
    turns: Turns[str] = Turns()
    with turns.turn("thing", "outer", most=1), turns.turn("thing", "inner", most=1) as inner:
        assert inner == Turn(items=("inner",), waited=False)
    assert not turns._lines


def test_who_does_not_come_back_keeps_nobody_for_ever() -> None:
    """What it has not taken is done without it; who comes after that does not even wait."""
    turns: Turns[str] = Turns(Patience(for_turn=0.5, for_others=1.0))
    is_over = threading.Event()
    seen: dict[str, Turn[str]] = {}

    def take(item: str) -> None:
        with turns.turn("thing", item, most=2) as turn:
            seen[item] = turn
            if not turn.is_late:
                is_over.wait(10)

    with ThreadPoolExecutor(3) as pool:
        with turns.turn("thing", "first", most=1):
            running = [pool.submit(take, item) for item in "ab"]
            while len(turns._lines["thing"].waiting) < 2:
                time.sleep(0.001)
        while not seen:
            time.sleep(0.001)
        (hangs,) = seen
        pool.submit(take, "late").result()
        with turns.turn("thing", "later", most=1) as later:
            assert later == Turn(items=("later",), waited=False)
        running["ba".index(hangs)].result()
        is_over.set()
    assert sorted(seen.pop(hangs).items) == ["a", "b"]
    assert seen.pop("late") == Turn(items=("late",), waited=True, is_late=True)
    assert list(seen.values()) == [Turn(items=(), waited=True, is_late=True)]
    assert not turns._lines


def test_what_is_taken_at_the_last_moment_is_not_given_up_at_once() -> None:
    """Whoever takes it has just begun, so it is either left with its owner, or waited for."""
    turns: Turns[str] = Turns(Patience(for_turn=0.01, for_others=10))
    seen: list[Turn[str]] = []
    let_go: list[int] = []

    class Lock:
        """Lets the one whose turn it is take what waits, between any two steps of another one."""

        def __enter__(self) -> None:
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            let_go.append(1)
            if len(let_go) > 1:
                line.waiting.clear()
            lock.release()

    def take() -> None:
        with turns.turn("thing", "late", most=1) as turn:
            seen.append(turn)

    with turns.turn("thing", "first", most=1):
        lock, line = turns._lock, turns._lines["thing"]
        turns._lock = Lock()  # type: ignore[assignment]
        late = threading.Thread(target=take)
        late.start()
        late.join(5)
        turns._lock = lock
    late.join()
    assert seen == [Turn(items=("late",), waited=True, is_late=True)]


def test_a_fork_has_nobody_in_line() -> None:
    """Though a thread of its parent had its turn, which the child does not have."""
    turns: Turns[str] = Turns()
    has_it, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with turns.turn("thing", "parent", most=1):
            has_it.set()
            is_over.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    has_it.wait(10)
    child = os.fork()
    if not child:
        with turns.turn("thing", "child", most=1) as turn:
            os._exit(0 if turn == Turn(items=("child",), waited=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    is_over.set()
    thread.join()
