"""Commits by clocks that differ: the metadata of both stores never goes back in time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import SetPropertiesUpdate

import arctic
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.cleaning.expire_snapshots import KeepRules, expire_snapshots
from arctic.iceberg.tables.open_table import OpenTable
from tests.iceberg.stores import append, make, overwrite, reopened, row

HOUR = 3_600_000
Action = Callable[[OpenTable], object]


def upsert(opened: OpenTable) -> object:
    """Commit to the change store."""
    return append(opened, [row(2)])


def replace(opened: OpenTable) -> object:
    """Commit to the base store."""
    return overwrite(opened, [row(3)])


def optimize(opened: OpenTable) -> object:
    """Merge what is in change."""
    return arctic.optimize(opened.table.name, type="full", warehouse=opened.config.warehouse)


def expire(opened: OpenTable) -> object:
    """Remove old snapshots of both stores, which makes no snapshot."""
    rules = KeepRules(keep_ms=0, min_count=1, now_ms=2**50)
    return [
        expire_snapshots(store, rules, needed=frozenset, dry_run=False) for store in stores(opened)
    ]


def add_column(opened: OpenTable) -> object:
    """Change the schema of both stores, which makes no snapshot."""
    return arctic.evolve_schema(
        opened.table.name, add={"note": pa.string()}, warehouse=opened.config.warehouse
    )


def set_property(opened: OpenTable) -> object:
    """Set a property of both stores, which makes no snapshot."""
    catalog = open_catalog(opened.config)
    for store in stores(opened):
        catalog.commit_table(store, (), (SetPropertiesUpdate(updates={"a": "b"}),))
    return None


def stores(opened: OpenTable) -> list[Table]:
    """Return what there is of both stores."""
    return [opened.base, *([] if opened.change is None else [opened.change])]


ACTIONS: tuple[Action, ...] = (upsert, replace, optimize, expire, add_column, set_property)


@pytest.mark.parametrize("key", [("id",), ()], ids=["keyed", "unkeyed"])
def test_a_clock_that_is_behind_takes_the_time_of_the_last_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    """After commits of a clock an hour ahead, every kind of commit is in order with them."""
    opened = make(tmp_path, key=key)
    ahead_ms = _now_ms() + HOUR
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: ahead_ms / 1_000)
        append(opened, [row(1)])
        overwrite(opened, [row(1)])

    for action in ACTIONS:
        opened = reopened(opened)
        before = [store.metadata_location for store in stores(opened)]

        action(opened)

        after = stores(reopened(opened))
        assert before != [store.metadata_location for store in after], action
        # With a key an overwrite is a millisecond later than the changes that it replaces.
        latest_ms = ahead_ms + 2 * len(key)
        times = [store.metadata.last_updated_ms for store in after]
        assert all(ahead_ms <= each <= latest_ms for each in times), action
        assert all(_is_in_order(store.metadata) for store in after), action


def test_a_clock_that_is_ahead_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit is dated by its own clock wherever that is not earlier."""
    opened = make(tmp_path, key=())
    append(opened, [row(1)])
    ahead_ms = _now_ms() + HOUR
    monkeypatch.setattr(time, "time", lambda: ahead_ms / 1_000)

    append(opened, [row(2)])

    snapshots = reopened(opened).base.metadata.snapshots
    assert [each.timestamp_ms >= ahead_ms for each in snapshots] == [False, True]


def test_metadata_that_moves_on_while_a_snapshot_is_made_stays_in_order(tmp_path: Path) -> None:
    """A snapshot keeps its time; the metadata that brings it in is not dated before the last."""
    opened = make(tmp_path, key=())
    append(opened, [row(1)])
    ahead_ms = _now_ms() + HOUR
    catalog = open_catalog(opened.config)
    assert isinstance(catalog, MetastoreCatalog)
    store = catalog.load_table(("db", "t"))
    staged = catalog._update_and_stage_table(store, ("db", "t"), (), ())
    assert staged.metadata.last_updated_ms == store.metadata.last_updated_ms

    store.metadata = store.metadata.model_copy(update={"last_updated_ms": ahead_ms})
    change = (SetPropertiesUpdate(updates={"a": "b"}),)
    staged = catalog._update_and_stage_table(store, ("db", "t"), (), change)

    assert staged.metadata.last_updated_ms == ahead_ms
    assert _is_in_order(staged.metadata)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _is_in_order(metadata: TableMetadata) -> bool:
    """Say whether Java would open it, with no minute of tolerance."""
    by_number = sorted(metadata.snapshots, key=lambda each: each.sequence_number or 0)
    times = [
        [each.timestamp_ms for each in by_number],
        [each.timestamp_ms for each in metadata.snapshot_log],
        [each.timestamp_ms for each in metadata.metadata_log],
    ]
    return all(
        before <= after
        for found in times
        for before, after in itertools.pairwise([*found, metadata.last_updated_ms])
    )
