"""Readings in threads: every batch once, in the same order every time, and no thread is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import pytest

from arctic.job.read.read_ahead import AHEAD, read_ahead


def counting(name: str, batches: int, log: list[str] | None = None) -> Iterator[str]:
    """Yield a few texts, and note when that is over."""
    try:
        for number in range(batches):
            yield f"{name}{number}"
    finally:
        if log is not None:
            log.append(name)


def threads_left() -> list[str]:
    """Return the names of reading threads that run."""
    return [thread.name for thread in threading.enumerate() if thread.name == "arctic-read"]


def readings(*sizes: int) -> list[Callable[[], Iterator[str]]]:
    """Return one for each size, named a, b, c."""
    return [partial(counting, "abcdef"[place], size) for place, size in enumerate(sizes)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [(), (3,), (0, 2), (5, 1, 3), (40, 0, 1, 17, 2)])
def test_each_batch_comes_once_and_in_the_same_order(sizes: tuple[int, ...], threads: int) -> None:
    """Those of one reading in their order."""
    first = list(read_ahead(readings(*sizes), threads))

    assert sorted(first) == sorted(item for reading in readings(*sizes) for item in reading())
    for name in "abcdef":
        numbers = [int(item[1:]) for item in first if item[0] == name]
        assert numbers == sorted(numbers)
    assert list(read_ahead(readings(*sizes), threads)) == first
    assert threads_left() == []


def test_batches_are_taken_in_turn() -> None:
    """Two at a time; the third begins when one ends."""
    assert list(read_ahead(readings(1, 3, 2), 2)) == ["a0", "b0", "b1", "c0", "b2", "c1"]


def test_nobody_reads_far_ahead() -> None:
    """A slow taker bounds what is in memory."""
    made = []

    def reading() -> Iterator[int]:
        for number in range(1_000):
            made.append(number)
            yield number

    batches = read_ahead([reading, reading], 2)
    next(batches)
    threading.Event().wait(0.2)

    assert len(made) <= 2 * (AHEAD + 2)
    batches.close()  # type: ignore[attr-defined]


def test_who_stops_taking_stops_the_readings() -> None:
    """Each is closed, in its thread, before the taker goes on."""
    log: list[str] = []
    batches = read_ahead([partial(counting, name, 100, log) for name in "ab"], 2)

    assert list(islice(batches, 3)) == ["a0", "b0", "a1"]
    batches.close()  # type: ignore[attr-defined]

    assert sorted(log) == ["a", "b"]
    assert threads_left() == []


def test_a_failure_ends_all() -> None:
    """It is raised as it is, after the batches before it."""
    log: list[str] = []

    def failing() -> Iterator[str]:
        yield "x"
        raise ValueError("broken")

    both: list[Callable[[], Iterator[str]]] = [partial(counting, "a", 100, log), failing]
    batches = read_ahead(both, 2)

    assert [next(batches), next(batches), next(batches)] == ["a0", "x", "a1"]
    with pytest.raises(ValueError, match="broken"):
        next(batches)
    assert log == ["a"]
    assert threads_left() == []
