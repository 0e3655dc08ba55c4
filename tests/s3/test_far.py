"""Tables that are far away: what waits, waits side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.requests.far import Trip, round_trips, trips
from benchmarks.requests.object_store import Asked, ObjectStore

DELAY_MS = 100
MOST = {
    "a read after": 12,
    "a read of": 16,
    "the changes": 20,
    "an upsert": 18,
    "a minor": 30,
    "a plan": 13,
}
"""Round trips with Arrow, which asks how long a file is before it reads it: a fifth more than on a
machine that has nothing else to do, where threads begin as soon as they may."""


def test_round_trips_are_few_however_many_the_files(
    server: ObjectStore, library: Mapping[str, str], tmp_path: Path
) -> None:
    """Of a process that is new to the table, with every request taking a while."""
    found = trips(server, tmp_path, library, files=3_000, delay_ms=DELAY_MS)

    for trip in found:
        assert trip.round_trips <= most(trip), found
        assert trip.seconds * 1_000 >= trip.round_trips * DELAY_MS


def most(trip: Trip) -> int:
    """Return the most round trips that a call may take."""
    return next(number for what, number in MOST.items() if trip.what.startswith(what))


def test_requests_that_wait_side_by_side_are_one_round_trip() -> None:
    """The longest row of requests counts, each sent after the last one was answered."""
    times = [(0, 5), (1, 6), (5, 9), (7, 8), (9, 12), (9, 20)]
    asked = [Asked("GET", "/b/x", began, ended) for began, ended in times]

    assert round_trips(asked) == 3
    assert round_trips([]) == 0
