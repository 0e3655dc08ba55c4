"""Who may begin beside whom."""

from __future__ import annotations

from arctic.service.scheduling.lane import Lane

MINUTE_MS = 60_000


def test_one_at_a_time_but_for_what_takes_long() -> None:
    """Ten minutes; it is at work all the same."""
    lane = Lane()
    assert lane.is_free(0)
    lane.begin("a", 0)

    assert not lane.is_free(9 * MINUTE_MS)
    assert lane.is_free(10 * MINUTE_MS)
    lane.begin("b", 10 * MINUTE_MS)
    assert not lane.is_free(19 * MINUTE_MS)
    lane.end("b")
    assert lane.is_free(19 * MINUTE_MS)
    assert "a" in lane
    lane.end("a")
    assert "a" not in lane


def test_what_hangs_is_bounded() -> None:
    """Whatever time goes by."""
    lane = Lane()
    for number in range(8):
        lane.begin(str(number), 0)

    assert not lane.is_free(10**9)
