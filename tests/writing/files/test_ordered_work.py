"""Work in lanes, in threads."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from arctic.writing.files.ordered_work import Lane, OrderedWork


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_lane_keeps_its_order(threads: int) -> None:
    """However many lanes there are beside it."""
    work = OrderedWork(threads)
    lanes = [Lane() for _ in range(4)]
    done: list[list[int]] = [[] for _ in lanes]

    for number in range(100):
        for lane, seen in zip(lanes, done, strict=True):
            work.submit(lane, partial(seen.append, number))
    work.wait(lanes[0])
    assert done[0] == list(range(100))
    work.close()

    assert done == [list(range(100))] * 4


def test_lanes_run_beside_one_another() -> None:
    """Each of two waits until the other has begun."""
    work = OrderedWork(2)
    both = threading.Barrier(2, timeout=30)

    for _ in range(2):
        work.submit(Lane(), both.wait)

    work.close()


def test_no_more_is_pending_than_memory_allows() -> None:
    """Who brings more waits."""
    work = OrderedWork(2)
    gate = threading.Event()
    lane = Lane()
    brought: list[int] = []

    def bring() -> None:
        for number in range(6):
            work.submit(lane, gate.wait)
            brought.append(number)

    bringer = threading.Thread(target=bring)
    bringer.start()
    end = time.monotonic() + 60
    while len(brought) < 4:
        assert time.monotonic() < end, brought
        time.sleep(0.005)
    bringer.join(timeout=0.1)

    assert brought == [0, 1, 2, 3]
    gate.set()
    bringer.join()
    work.close()


@pytest.mark.parametrize("ask", ["submit", "wait", "close"])
def test_a_failure_reaches_whoever_asks_next(ask: str) -> None:
    """What came after it in any lane is not done."""
    work = OrderedWork(2)
    lane, gate = Lane(), threading.Event()
    done: list[int] = []

    def fail() -> None:
        gate.wait()
        raise OSError("disk is full")

    work.submit(lane, fail)
    work.submit(lane, partial(done.append, 1))
    gate.set()

    with pytest.raises(OSError, match="disk is full"):
        {"submit": partial(_submit_forever, work), "wait": partial(work.wait, lane)}.get(
            ask, work.close
        )()
    work.abandon()
    assert done == []


def _submit_forever(work: OrderedWork) -> None:
    while True:
        work.submit(Lane(), int)


def test_what_was_abandoned_does_not_begin() -> None:
    """What runs is waited for, and there is no failure to hear of afterwards."""
    work = OrderedWork(2)
    lane, begun = Lane(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        threading.Event().wait(0.05)
        done.append("slow")

    work.submit(lane, slow)
    work.submit(lane, partial(done.append, "never"))
    begun.wait()
    work.abandon()

    assert done == ["slow"]
    work.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order(threads: int) -> None:
    """Of work that needs no lane; its first failure is raised."""
    work = OrderedWork(threads)

    assert work.results([partial(divmod, number, 3) for number in range(5)]) == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1),
    ]  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        work.results([partial(divmod, 1, 1), partial(divmod, 1, 0)])
    work.close()
