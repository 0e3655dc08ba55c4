"""Which table is published next."""

from __future__ import annotations

from arctic.service.scheduling.publish_queue import PublishQueue


def test_a_table_is_published_once_for_each_state() -> None:
    """One at a time, and none that is worked on."""
    queue = PublishQueue()
    for name in ("a", "b", "c"):
        queue.looked(name, (f"{name}-1",), is_wished=name != "c")

    assert queue.begin({"a"}, 0) == "b"
    assert queue.begin(set(), 0) is None
    queue.ended("b", is_good=True)
    assert queue.begin(set(), 0) == "a"
    queue.ended("a", is_good=True)
    queue.looked("a", ("a-1",), is_wished=True)
    assert queue.begin(set(), 0) is None
    queue.looked("a", ("a-2",), is_wished=True)
    assert queue.begin(set(), 0) == "a"


def test_one_that_failed_is_tried_again_with_the_next_look_at_all_tables() -> None:
    """Not at once: its end is a reason to look at it."""
    queue = PublishQueue()
    queue.looked("a", ("1",), is_wished=True)
    queue.begin(set(), 0)
    queue.ended("a", is_good=False)
    queue.looked("a", ("1",), is_wished=True)
    assert queue.begin(set(), 0) is None

    queue.begin_look()
    queue.looked("a", ("1",), is_wished=True)
    assert queue.begin(set(), 0) == "a"


def test_what_is_gone_or_wished_no_more_waits_no_more() -> None:
    """And counts as new when it comes back."""
    queue = PublishQueue()
    queue.looked("a", ("1",), is_wished=True)
    queue.looked("a", ("1",), is_wished=False)
    assert queue.begin(set(), 0) is None
    queue.looked("a", ("1",), is_wished=True)
    assert queue.begin(set(), 0) == "a"
