"""Tables that are far away: what waits, waits side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.requests.__main__ import LIBRARIES
from benchmarks.requests.far import MOST_ROUND_TRIPS, round_trips, trips
from benchmarks.requests.object_store import Asked, ObjectStore
from benchmarks.requests.page import PAGE, far_told

DELAY_MS = 100


@pytest.mark.parametrize("name", LIBRARIES)
def test_calls_take_the_requests_that_the_page_tells(
    server: ObjectStore, name: str, tmp_path: Path
) -> None:
    """Of a process that is new to the table; few of them wait, however many the files."""
    found = trips(server, tmp_path, LIBRARIES[name], delay_ms=DELAY_MS)

    requests = [(each.what, each.requests) for each in found]
    told = far_told(PAGE.read_text(encoding="utf-8"), name)
    assert [each[:2] for each in told] == requests, "make bench-requests ARGS=--write-docs"
    assert tuple(most for *_, most in told) == MOST_ROUND_TRIPS[name]
    for trip, most in zip(found, MOST_ROUND_TRIPS[name], strict=True):
        assert trip.round_trips <= most, found
        assert trip.seconds * 1_000 >= trip.round_trips * DELAY_MS


def test_requests_that_wait_side_by_side_are_one_round_trip() -> None:
    """The longest row of requests counts, each sent after the last one was answered."""
    times = [(0, 5), (1, 6), (5, 9), (7, 8), (9, 12), (9, 20)]
    asked = [Asked("GET", "/b/x", began, ended) for began, ended in times]

    assert round_trips(asked) == 3
    assert round_trips([]) == 0
