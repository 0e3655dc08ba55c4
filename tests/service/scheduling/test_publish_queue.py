"""Which table is published next."""

from __future__ import annotations

from arctic.service.scheduling.publish_queue import PublishQueue

MINUTE = 60_000


def test_a_table_is_published_once_for_each_state() -> None:
    """One at a time, and none that is worked on."""
    queue = PublishQueue()
    for name in ("a", "b", "c"):
        queue.looked(name, (f"{name}-1",), is_wished=name != "c")

    assert queue.begin({"a"}, 0) == "b"
    assert queue.begin(set(), 0) is None
    queue.ended("b", 0, is_good=True)
    assert queue.begin(set(), 0) == "a"
    queue.ended("a", 0, is_good=True)
    queue.looked("a", ("a-1",), is_wished=True)
    assert queue.begin(set(), 0) is None
    queue.looked("a", ("a-2",), is_wished=True)
    assert queue.begin(set(), 0) == "a"


def test_one_that_failed_is_tried_again_after_longer_and_longer_and_behind_the_others() -> None:
    """Whatever is seen of it meanwhile, also where no look does; a good one ends that."""
    queue, now = PublishQueue(), 0
    queue.looked("a", ("1",), is_wished=True)
    for minutes in (1, 2, 4):
        assert queue.begin(set(), now) == "a"
        queue.ended("a", now, is_good=False)
        queue.looked("a", (str(now),), is_wished=True)
        queue.looked("b", (str(now),), is_wished=True)
        assert queue.begin(set(), now) == "b"
        queue.ended("b", now, is_good=True)
        now += minutes * MINUTE
        assert queue.begin(set(), now - 1) is None

    assert queue.begin(set(), now) == "a"
    queue.ended("a", now, is_good=True)
    queue.looked("a", ("2",), is_wished=True)
    assert queue.begin(set(), now) == "a"
    queue.ended("a", now, is_good=False)
    assert queue.begin(set(), now + MINUTE) == "a"


def test_what_failed_while_the_catalog_was_away_is_tried_at_once() -> None:
    """What failed before is not."""
    queue = PublishQueue()
    queue.looked("a", ("1",), is_wished=True)
    queue.begin(set(), 5)
    queue.ended("a", 5, is_good=False)

    queue.forgive(6)
    assert queue.begin(set(), 7) is None
    queue.forgive(5)
    assert queue.begin(set(), 7) == "a"


def test_what_is_gone_or_wished_no_more_waits_no_more() -> None:
    """And counts as new when it comes back, also where it failed at last."""
    queue = PublishQueue()
    queue.looked("a", ("1",), is_wished=True)
    queue.looked("a", ("1",), is_wished=False)
    assert queue.begin(set(), 0) is None
    queue.looked("a", ("1",), is_wished=True)
    assert queue.begin(set(), 0) == "a"
    queue.looked("a", ("1",), is_wished=False)
    queue.ended("a", 0, is_good=False)
    assert queue.begin(set(), MINUTE) is None
    queue.looked("a", ("1",), is_wished=True)
    assert queue.begin(set(), 0) == "a"
