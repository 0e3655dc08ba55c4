"""A short soak, and that a soak would see what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.model import Replay, by_writer, operation
from soak.run import Soak

SEED, TABLE, WRITER = 5, "soak.moving", "writer-1"
SECONDS = 2.0


@pytest.mark.slow
def test_many_processes_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    """The tables equal the oracle, readers saw whole operations, nothing failed, no orphans."""
    said: list[str] = []
    soak = Soak(tmp_path, seed=SEED, spark=False, say=said.append)

    outcome = soak.run(SECONDS)

    assert outcome.failures == []
    assert outcome.orphans == 0
    assert outcome.rows > 0
    assert any("writer-1" in line for line in said)


def test_what_an_operation_leaves_is_accepted_and_nothing_else() -> None:
    """Neither half of one, nor a row that is older than what was seen before."""
    count = 40
    states = [
        dict(Replay(seed=SEED, table=TABLE, writer=WRITER).to(number)) for number in range(count)
    ]
    replay = Replay(seed=SEED, table=TABLE, writer=WRITER)
    assert all(replay.accepts(state) for state in states)

    newest = states[-1]
    half = dict(list(newest.items())[1:])
    assert not Replay(seed=SEED, table=TABLE, writer=WRITER).accepts(half)
    assert not replay.accepts(states[3])


def test_a_key_that_is_there_twice_is_seen() -> None:
    """Whatever partitions its rows are in."""
    row = operation(SEED, TABLE, WRITER, 0).rows[0]
    with pytest.raises(AssertionError, match="is there twice"):
        by_writer([row, (row[0], "elsewhere", 0, "")])
