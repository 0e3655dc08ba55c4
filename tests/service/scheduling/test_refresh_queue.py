"""Which view is refreshed next."""

from __future__ import annotations

from arctic.service.scheduling.refresh_queue import Refreshing, RefreshQueue

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
AT_ONCE = Refreshing(sources=("t",), every_ms=0)


def test_a_view_is_refreshed_once_for_each_state_of_its_sources() -> None:
    """One at a time, the one that waits longest first, and none that is worked on."""
    queue = RefreshQueue()
    queue.looked("t", ("1",), None)
    for name in ("a", "b"):
        queue.looked(name, ("0",), AT_ONCE)

    assert queue.begin({"a"}, 5) == "b"
    assert queue.begin(set(), 5) is None
    queue.ended("b", 5, is_good=True)
    assert queue.begin(set(), 6) == "a"
    queue.ended("a", 6, is_good=True)
    assert queue.begin(set(), 7) is None

    queue.looked("a", ("1",), AT_ONCE)
    assert queue.begin(set(), 8) is None
    queue.looked("t", ("2",), None)
    assert queue.begin(set(), 9) == "b"


def test_a_view_keeps_to_its_time() -> None:
    """A change before it waits; without a change its time means nothing."""
    queue = RefreshQueue()
    hourly = Refreshing(sources=("t",), every_ms=60)
    queue.looked("t", ("1",), None)
    queue.looked("a", ("0",), hourly)
    assert queue.begin(set(), 100) == "a"
    queue.ended("a", 101, is_good=True)
    assert queue.begin(set(), 200) is None

    queue.looked("t", ("2",), None)
    assert queue.begin(set(), 159) is None
    assert queue.begin(set(), 160) == "a"


def test_a_view_of_a_view_comes_after_it() -> None:
    """Whatever their names are; where it failed, the other is refreshed all the same."""
    queue = RefreshQueue()
    queue.looked("t", ("1",), None)
    queue.looked("z", ("1",), AT_ONCE)
    queue.looked("a", ("1",), Refreshing(sources=("z", "t"), every_ms=0))

    assert queue.begin(set(), 1) == "z"
    queue.ended("z", 1, is_good=False)
    assert queue.begin(set(), 1) == "a"
    queue.ended("a", 1, is_good=True)
    assert queue.begin(set(), MINUTE) is None

    assert queue.begin(set(), 1 + MINUTE) == "z"


def test_what_is_gone_or_wished_no_more_is_left_alone() -> None:
    """And counts as new when it comes back."""
    queue = RefreshQueue()
    queue.looked("a", ("1",), AT_ONCE)
    queue.looked("a", ("1",), None)
    assert queue.begin(set(), 1) is None
    queue.looked("a", ("1",), AT_ONCE)
    queue.forget("a")
    assert queue.begin(set(), 1) is None


def test_one_that_fails_is_tried_after_longer_and_longer_and_keeps_no_other_from_its_turn() -> None:
    """Sixty that take four seconds each to fail, and one whose source changes all the time."""
    queue = RefreshQueue()
    bad = [f"bad{number:02}" for number in range(60)]
    begun = dict.fromkeys((*bad, "good"), 0)
    running, ends = None, 0
    for second in range(3 * 3_600):
        if running is not None and second >= ends:
            queue.ended(running, second * 1_000, is_good=running == "good")
            running = None
        if second % 180 == 0:
            queue.looked("t", (str(second),), None)
            for name in bad:
                lost = Refreshing(sources=("lost",), every_ms=DAY)
                queue.looked(name, ("0",), lost)
            queue.looked("good", ("0",), AT_ONCE)
        if running is None:
            running = queue.begin(set(), second * 1_000)
            if running is not None:
                begun[running] += 1
                ends = second + (1 if running == "good" else 4)

    assert begun["good"] > 50
    assert all(6 <= begun[name] <= 8 for name in bad)


def test_what_failed_while_the_catalog_was_away_is_tried_at_once() -> None:
    """What failed before is not."""
    queue = RefreshQueue()
    queue.looked("a", ("0",), AT_ONCE)
    queue.begin(set(), 5)
    queue.ended("a", 5, is_good=False)

    queue.forgive(6)
    assert queue.begin(set(), 7) is None
    queue.forgive(5)
    assert queue.begin(set(), 7) == "a"


def test_a_view_of_days_is_refreshed_when_a_day_is_over() -> None:
    """Ten minutes after its end, once, though no source changed; another view is not."""
    queue, noon, over = RefreshQueue(), 7 * DAY // 2, 4 * DAY + 10 * MINUTE
    queue.looked("t", ("1",), None)
    queue.looked("rows", ("0",), AT_ONCE)
    queue.looked("days", ("0",), Refreshing(sources=("t",), every_ms=0, is_of_days=True))
    for name in ("days", "rows"):
        assert queue.begin(set(), noon) == name
        queue.ended(name, noon, is_good=True)

    assert queue.begin(set(), over - 1) is None
    assert queue.begin(set(), over) == "days"
    queue.ended("days", over, is_good=True)
    assert queue.begin(set(), over + DAY - 1) is None
    assert queue.begin(set(), over + DAY) == "days"


def test_a_clock_that_is_set_back_keeps_no_view_from_its_turn() -> None:
    """Whoever was refreshed by the other clock was so longest ago."""
    queue, ahead = RefreshQueue(), 10 * DAY
    queue.looked("t", ("1",), None)
    for name in ("a", "b"):
        queue.looked(name, ("0",), Refreshing(sources=("t",), every_ms=MINUTE))
    assert queue.begin({"b"}, ahead) == "a"
    queue.ended("a", ahead, is_good=False)
    assert queue.begin({"a"}, 0) == "b"
    queue.ended("b", 0, is_good=True)

    queue.looked("t", ("2",), None)
    assert queue.begin(set(), MINUTE) == "a"
