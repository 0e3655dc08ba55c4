"""Which view is refreshed next."""

from __future__ import annotations

from arctic.service.scheduling.refresh_queue import Refreshing, RefreshQueue

AT_ONCE = Refreshing(sources=("t",), every_ms=0)


def test_a_view_is_refreshed_once_for_each_state_of_its_sources() -> None:
    """One at a time, the one that waits longest first, and none that is worked on."""
    queue = RefreshQueue()
    queue.looked("t", ("1",), None)
    for name in ("a", "b"):
        queue.looked(name, ("0",), AT_ONCE)

    assert queue.begin({"a"}, 5) == "b"
    assert queue.begin(set(), 5) is None
    queue.ended("b", is_good=True)
    assert queue.begin(set(), 6) == "a"
    queue.ended("a", is_good=True)
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
    queue.ended("a", is_good=True)
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
    queue.ended("z", is_good=False)
    assert queue.begin(set(), 1) == "a"
    queue.ended("a", is_good=True)
    assert queue.begin(set(), 1) is None

    queue.begin_look()
    assert queue.begin(set(), 2) == "z"


def test_what_is_gone_or_wished_no_more_is_left_alone() -> None:
    """And counts as new when it comes back."""
    queue = RefreshQueue()
    queue.looked("a", ("1",), AT_ONCE)
    queue.looked("a", ("1",), None)
    assert queue.begin(set(), 1) is None
    queue.looked("a", ("1",), AT_ONCE)
    queue.forget("a")
    assert queue.begin(set(), 1) is None
