"""Systems that are measured side by side: whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from benchmarks.peers.turns import HandOn, StoppedError, Turns, run_in_turns


def _run(*stages: Sequence[int], failing: int | None = None) -> list[str]:
    """Run parts that hand on at these stages; return what they did, in order."""
    turns, done = Turns(len(stages)), []

    def part(number: int) -> None:
        with turns.part(number) as hand_on:
            for step, stage in enumerate(stages[number]):
                hand_on(stage)
                if failing == number:
                    raise OSError(f"part {number}")
                done.append(f"{number}.{step}")

    with ThreadPoolExecutor(len(stages)) as threads:
        futures = [threads.submit(part, number) for number in range(len(stages))]
        for future in futures:
            with suppress(OSError):
                future.result(timeout=10)
    return done


def test_each_has_its_turn_for_one_step() -> None:
    """Whoever has less to do leaves the others to themselves."""
    assert _run([0, 0, 0], [0], [0, 0]) == ["0.0", "1.0", "2.0", "0.1", "2.1", "0.2"]


def test_a_stage_begins_for_all_together() -> None:
    """The second has nothing to do in the first stage, and waits."""
    assert _run([0, 0, 1], [1, 1]) == ["0.0", "0.1", "1.0", "0.2", "1.1"]


def test_one_that_fails_is_waited_for_no_longer() -> None:
    """It is gone with its first step."""
    assert _run([0, 0], [0, 0], failing=0) == ["1.0", "1.1"]


def test_what_one_raises_ends_the_run_of_all() -> None:
    """The other one is told when it hands its turn on."""

    def fails(hand_on: HandOn) -> None:
        hand_on(0)
        raise OSError("no room")

    def goes_on(hand_on: HandOn) -> None:
        while True:
            hand_on(0)

    with pytest.raises(OSError, match="no room"):
        run_in_turns([fails, goes_on])


def test_all_give_up_when_they_are_told_to() -> None:
    """One that has the turn notices when it hands it on, the other one while it waits."""
    turns = Turns(2)

    def waiting() -> None:
        with turns.part(1):
            raise AssertionError("it has no turn")

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(waiting)
        with turns.part(0) as hand_on:
            turns.stop()
            with pytest.raises(StoppedError):
                hand_on(0)
        with pytest.raises(StoppedError):
            other.result(timeout=10)
