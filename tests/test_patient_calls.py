"""Calls that may hang: others go on, and what comes late is not lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from arctic.errors import StorageError
from arctic.patient_calls import PatientCalls


class Desk:
    """Answers calls, but those for names that hang; counts how often each was begun."""

    def __init__(self, *hang: str) -> None:
        self.hang = set(hang)
        self.goes_on = threading.Event()
        self.begun: list[str] = []

    def ask(self, name: str) -> str:
        """Return the name in capitals, when it is let."""
        self.begun.append(name)
        if name in self.hang:
            assert self.goes_on.wait(60)
        if name == "bad":
            raise KeyError(name)
        return name.upper()


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Two of its names hang."""
    made = Desk("h1", "h2")
    yield made
    made.goes_on.set()


def test_each_call_has_its_result_and_a_failure_is_one(desk: Desk) -> None:
    """More of them than threads."""
    calls: PatientCalls[str, str] = PatientCalls(threads=2, seconds=60)

    found = dict(calls.run(desk.ask, ["a", "bad", "b", "c"]))

    assert isinstance(found.pop("bad"), KeyError)
    assert found == {"a": "A", "b": "B", "c": "C"}


def test_calls_that_hang_keep_no_other_waiting_for_longer_than_their_time(desk: Desk) -> None:
    """As many of them as there are threads; none is begun again before it has returned."""
    calls: PatientCalls[str, str] = PatientCalls(threads=2, seconds=0.2)

    first = list(calls.run(desk.ask, ["h1", "h2", "a", "b"]))
    again = dict(calls.run(desk.ask, ["h1", "a"]))

    assert sorted(name for name, result in first if isinstance(result, StorageError)) == [
        "h1",
        "h2",
    ]
    assert dict(first)["b"] == "B"
    assert isinstance(again["h1"], StorageError)
    assert "no answer within" in str(again["h1"])
    assert desk.begun.count("h1") == 1
    desk.goes_on.set()
    while isinstance(dict(calls.run(desk.ask, ["h1"]))["h1"], StorageError):
        pass
    assert desk.begun.count("h1") == 2


def test_what_comes_late_is_given_to_who_asks_next(desk: Desk) -> None:
    """If whoever made the calls is told of it."""
    told = threading.Event()
    calls: PatientCalls[str, str] = PatientCalls(
        threads=2, seconds=0.1, late=lambda _name: told.set()
    )
    assert isinstance(dict(calls.run(desk.ask, ["h1"]))["h1"], StorageError)

    desk.goes_on.set()
    assert told.wait(60)

    assert dict(calls.run(desk.ask, ["h1"])) == {"h1": "H1"}
    assert desk.begun == ["h1"]


def test_two_who_ask_for_the_same_share_one_call(desk: Desk) -> None:
    """It is the same question."""
    calls: PatientCalls[str, str] = PatientCalls(threads=2, seconds=60)
    found: list[dict[str, str | Exception]] = []
    threads = [
        threading.Thread(target=lambda: found.append(dict(calls.run(desk.ask, ["h1"]))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    desk.goes_on.set()
    for thread in threads:
        thread.join(60)

    assert found == [{"h1": "H1"}] * 2


def test_so_many_may_hang_and_others_are_refused_then() -> None:
    """Threads are not without end."""
    desk = Desk(*(f"h{number}" for number in range(9)))
    calls: PatientCalls[str, str] = PatientCalls(threads=1, seconds=0.01)

    found = dict(calls.run(desk.ask, [*sorted(desk.hang), "a"]))
    desk.goes_on.set()

    assert len(desk.begun) == 4
    assert "4 other calls have not returned" in str(found["a"])
