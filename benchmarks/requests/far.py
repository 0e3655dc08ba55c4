"""What a table costs in time where every request takes 50 ms: round trips, one after the other.

Requests that wait side by side are one round trip. So are counted as many as the longest row of
requests has of which none was sent before the last one was answered; a faster network or machine
changes the seconds, not these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from benchmarks.big_table import NAME as LARGE
from benchmarks.big_table import make_big_table, spread_files
from benchmarks.requests.object_store import Asked, ObjectStore
from benchmarks.requests.verbs import IN_ALL_NODES, Life, forget

FILES = 10_000
"""Of the table that is planned."""
MOST_ROUND_TRIPS = {"Arrow": (12, 16, 16, 18, 24, 12), "s3fs": (6, 11, 11, 16, 18, 6)}
"""Of each call, in the order of ``trips``, by library: a fifth or more above what a machine takes
that has nothing else to do, where threads begin as soon as they may. Arrow asks how long a file is
before it reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """What one call took, in a process that is new to the table."""

    what: str
    requests: int
    round_trips: int
    seconds: float


def round_trips(asked: Sequence[Asked]) -> int:
    """Return how many requests were sent one after the other, at the least."""
    count, answered = 0, 0.0
    for each in sorted(asked, key=lambda each: each.ended):
        if each.began >= answered:
            count, answered = count + 1, each.ended
    return count


def trips(
    store: ObjectStore, folder: Path, more: Mapping[str, str], *, delay_ms: int
) -> list[Trip]:
    """Read, write and plan from far away.

    Args:
        store: where the tables lie; far away until this returns.
        folder: of the catalogs, and in the bucket.
        more: properties of the catalog, which choose a library.
        delay_ms: what each request waits, beside what the server takes.
    """
    life = Life(
        store, _catalog(store, folder, "life", more), written=IN_ALL_NODES, states_nodes=True
    )
    small = Life(store, _catalog(store, folder, "small", more))
    for each in (life, small):
        each.begin()
    large = _catalog(store, folder, "large", more)
    config = {f"catalog.{name}": text for name, text in large.items()}
    make_big_table(CatalogConfig.from_options(config), lambda: spread_files(FILES))
    calls: dict[str, Callable[[], Any]] = {
        "a read after three upserts of 40 rows": small.check,
        "a read of 24 files, each of 500 rows": life.check,
        "the changes that made them": life.changes,
        "an upsert into 4 nodes": life.change,
        "a minor optimize of all of it": life.optimize,
        f"a plan of {FILES:,} files": lambda: arctic.explain(LARGE, catalog=large),
    }
    store.delay(delay_ms)
    try:
        return [_trip(store, what, call) for what, call in calls.items()]
    finally:
        store.delay(0)


def _catalog(
    store: ObjectStore, folder: Path, name: str, more: Mapping[str, str]
) -> dict[str, str]:
    return store.catalog(folder / f"{name}.db", folder=f"{folder.name}/{name}", **more)


def _trip(store: ObjectStore, what: str, call: Callable[[], Any]) -> Trip:
    forget()
    store.asked()
    began = time.perf_counter()
    call()
    seconds = time.perf_counter() - began
    asked = store.asked()
    return Trip(what=what, requests=len(asked), round_trips=round_trips(asked), seconds=seconds)
