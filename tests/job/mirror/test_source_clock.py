"""A time is known once the mirror has come to where the log was after it."""

from __future__ import annotations

import pytest

from arctic.job.mirror.source_clock import SourceClock


def test_a_time_counts_once_the_place_after_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before that nothing is known; a clock that goes back takes nothing away."""
    looks = iter([(1_000, 10), (2_000, 20), (1_500, 20), (3_000, 31)])
    now = [0.0]
    monkeypatch.setattr("arctic.job.mirror.source_clock.time.monotonic", lambda: now[0])
    clock = SourceClock(lambda: next(looks))
    assert clock.first_place == 10
    assert clock.at(9) is None
    for second in (1, 1.5, 2, 3):
        now[0] = second
        clock.tick()

    assert [clock.at(place) for place in (9, 10, 19, 20, 30, 31, 99)] == [
        None, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000,
    ]  # fmt: skip
    assert clock.first_place == -1
