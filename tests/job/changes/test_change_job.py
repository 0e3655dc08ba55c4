"""Ranges of changes: where they begin and end, and what makes them refused."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import LongType

import arctic
from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.cleaning.expire_files import expire_changes
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.options import Scope
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table.streams.stream_position import StreamPosition
from tests.iceberg.stores import commit_files

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.string())])
SKIP = {"streaming-skip-overwrite-snapshots": "true"}
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
ONE_LEFT = {"snapshot.keep.duration": "0", "snapshot.keep.min-count": "1"}
ALL = ChangeLimit()


class Table:
    """A small table and its changes."""

    def __init__(self, folder: Path, *, key: tuple[str, ...] = ("id",)) -> None:
        self.warehouse = str(folder)
        self.table = arctic.create_table("db.t", SCHEMA, primary_key=key, warehouse=self.warehouse)
        self.mode = "upsert" if key else "append"

    def put(self, *ids: int, value: str = "x", mode: str | None = None) -> int:
        """Write rows; return the snapshot."""
        data = pa.table({"id": ids, "v": [value] * len(ids)}, schema=SCHEMA)
        snapshot_id = self.table.write(data, mode=mode or self.mode).snapshot_id
        assert snapshot_id is not None
        return snapshot_id

    def inserted(self, **arguments: Any) -> list[int]:
        """Return the ids that were inserted in a range."""
        rows = arctic.read_changes("db.t", warehouse=self.warehouse, **arguments).read_all()
        return sorted(row["id"] for row in rows.to_pylist() if row["_change_action"] == "+I")

    def changes(self, **options: str) -> Changes:
        """Return the changes as a stream reads them."""
        named = {name.replace("_", "-"): text for name, text in options.items()}
        given = {"path": "db.t", "warehouse": self.warehouse, **named}
        return Changes(AskedChanges.of(given, Scope.STREAM))

    def opened(self) -> OpenTable:
        """Open both stores."""
        return open_table(CatalogConfig.from_options({"warehouse": self.warehouse}), "db.t")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A keyed table."""
    return Table(tmp_path)


def now() -> datetime:
    """Return a moment between two commits."""
    time.sleep(0.005)
    moment = datetime.now(timezone.utc)
    time.sleep(0.005)
    return moment


def test_a_range_excludes_its_start_and_includes_its_end(table: Table) -> None:
    """Ranges that touch hold each commit once, by snapshot and by time."""
    first, between, second, then, third = (
        table.put(1),
        now(),
        table.put(2),
        now(),
        table.put(3),
    )

    assert table.inserted(start=first, end=second) == [2]
    assert table.inserted(start=second) == [3]
    assert table.inserted(start=between, end=then) == [2]
    assert table.inserted(start=then, end=third) == [3]
    assert table.inserted(start=third) == []
    assert table.inserted() == [1, 2, 3]


def test_without_a_start_each_row_comes_once(table: Table) -> None:
    """Merged or not, a row that is there is inserted, and one that is gone is not told of."""
    table.put(1, 2)
    table.table.optimize(type="major")
    table.put(2, 3)
    table.put(3, mode="delete")
    rows = table.table.read_changes(columns=["_change_action", "id"]).read_all().to_pylist()

    assert sorted(map(str, (tuple(row.values()) for row in rows))) == ["('+I', 1)", "('+I', 2)"]


def test_a_beginning_before_the_first_base_snapshot_lasts(table: Table) -> None:
    """Base had nothing then, whatever is merged now."""
    for number in range(3):
        table.put(number)
    changes, got = table.changes(), list[int]()
    at = changes.beginning()
    table.table.optimize(type="full")
    table.put(3)
    while (end := changes.advance(at, limit=ChangeLimit(max_files=1))) != at:
        got += changes.plan(at, end, columns=["id"]).table().column("id").to_pylist()
        at = end

    assert sorted(got) == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("kind", ["minor", "major", "full"])
def test_optimizing_leaves_a_range_as_it_is(table: Table, kind: str) -> None:
    """The change store is not touched, and base commits that keep all rows are no overwrites."""
    first = table.put(1)
    table.put(1, value="y")
    before = table.table.read_changes(start=first).read_all()
    table.table.optimize(type=kind)

    assert before.equals(table.table.read_changes(start=first).read_all())


def test_a_snapshot_that_is_none_of_the_changes(table: Table) -> None:
    """The error tells a base snapshot from an unknown one, and names the option to raise."""
    table.put(1)
    base = table.put(1, mode="overwrite")

    with pytest.raises(NotFoundError, match="one of the base store"):
        table.inserted(start=base)
    with pytest.raises(NotFoundError, match=r"change\.data\.ttl\.minutes"):
        table.inserted(start=5)


def test_contradictory_ranges_are_refused(table: Table) -> None:
    """Two starts, an end without a start, an end before the start, a time without a zone."""
    first, second = table.put(1), table.put(2)
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    cases: list[tuple[Mapping[str, Any], str]] = [
        ({"start": first, "options": {"start-timestamp": "5"}}, "give only one"),
        ({"end": first}, "without a start"),
        ({"start": second, "end": first}, "before it starts"),
        ({"start": later}, "still to come"),
        ({"start": datetime(2020, 1, 1)}, "with a zone"),  # noqa: DTZ001 - the mistake
        ({"options": {"snapshot-id": "5"}}, "unknown changes option"),
        ({"options": {"stream-from": "latest"}}, "unknown changes option"),
        ({"start": first, "options": {"store": "base"}}, "for changes"),
    ]
    for arguments, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            table.inserted(**arguments)


def test_an_overwrite_is_never_passed_over(table: Table) -> None:
    """Base rows were replaced and no change says so: an error, or a wish to skip it."""
    first = table.put(1)
    position = table.changes().beginning()
    table.put(2, mode="overwrite")
    table.put(3)

    with pytest.raises(UnsupportedError, match="streaming-skip-overwrite-snapshots"):
        table.inserted(start=first)
    assert table.inserted(start=first, options=SKIP) == [3]
    with pytest.raises(UnsupportedError, match="replaced or removed rows"):
        table.changes().advance(position, limit=ALL)
    skipping = table.changes(**SKIP)
    assert skipping.advance(position, limit=ALL).sequence_number == 2
    fresh = table.changes()
    assert fresh.advance(fresh.beginning(), limit=ALL).pin is None


def test_rows_that_a_stranger_removes_from_base_are_noticed(table: Table) -> None:
    """Any engine can write to the base store; nothing in the changes tells of it."""
    table.put(1)
    position = table.changes(stream_from="latest").beginning()
    commit_files(table.opened().base, operation=Operation.DELETE)

    with pytest.raises(UnsupportedError, match="'delete'"):
        table.changes().advance(position, limit=ALL)


def test_a_foreign_commit_to_the_change_store_is_refused(table: Table) -> None:
    """What it did to the changes is not understood."""
    first = table.put(1)
    change = table.opened().change
    assert change is not None
    commit_files(change, operation=Operation.OVERWRITE)

    with pytest.raises(UnsupportedError, match="expected appends and expiry only"):
        table.inserted(start=first)


def test_history_that_has_expired_is_refused(table: Table) -> None:
    """Change files are gone, so an old position has no way on; the error names the property."""
    table.put(1)
    old = table.changes(stream_from="latest").beginning()
    table.put(2)
    table.put(3)
    table.table.optimize(type="major")
    ahead = table.changes(stream_from="latest").beginning()
    table.table.expire(options=AT_ONCE)
    table.put(4)

    with pytest.raises(NotFoundError, match=r"commit 2 of 2 to .* change\.data\.ttl\.minutes"):
        table.changes(**SKIP).advance(old, limit=ALL)
    moved = table.changes().advance(ahead, limit=ALL)
    rows = table.changes().plan(ahead, moved, columns=["id"]).table()
    assert set(rows.column("id").to_pylist()) == {4}


def test_changes_that_expire_inside_a_range_are_still_read(table: Table) -> None:
    """Files leave the newest snapshot before the snapshots that added them go."""
    first = table.put(1)
    table.put(2)
    table.table.optimize(type="major")
    now_ms = time.time_ns() // 1_000_000 + 1
    removed = expire_changes(table.opened(), ttl_ms=0, keep_ms=0, now_ms=now_ms, dry_run=False)
    table.put(3)

    assert len(removed) == 4
    assert table.inserted(start=first) == [2, 3]


def test_a_pinned_beginning_that_has_expired_is_refused(table: Table) -> None:
    """A stream that was stopped in its first rows cannot go on without them."""
    for number in range(3):
        table.put(number)
    start = table.changes().beginning()
    part = table.changes().advance(start, limit=ChangeLimit(max_files=1))
    assert part.pin is not None
    table.table.optimize(type="full")
    table.put(9)
    table.table.expire(options=AT_ONCE)

    with pytest.raises(NotFoundError, match="which this stream begins with, is gone"):
        table.changes(**SKIP).plan(start, part, columns=None)


def test_a_rolled_back_change_store_is_refused(table: Table) -> None:
    """Rows were read that are not part of the table any more."""
    first = table.put(1)
    table.put(2)
    position = table.changes(stream_from="latest").beginning()
    change = table.opened().change
    assert change is not None
    change.manage_snapshots().rollback_to_snapshot(first).commit()

    with pytest.raises(NotFoundError, match="rolled back"):
        table.changes().advance(position, limit=ALL)
    table.put(3)
    with pytest.raises(NotFoundError, match="rolled back"):
        table.changes().advance(position, limit=ALL)


@pytest.mark.parametrize("merges", [False, True])
def test_a_commit_that_expired_is_known_by_its_files(tmp_path: Path, merges: bool) -> None:
    """A stream of a table without a key goes on after it, also where manifests were merged."""
    table = Table(tmp_path, key=())
    table.put(1)
    second = table.put(2)
    position = table.changes(stream_from="latest").beginning()
    base = table.opened().base
    if merges:
        merge = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}
        with base.transaction() as change:
            change.set_properties(merge)
        base.append(pa.table({"id": [3], "v": ["x"]}, schema=SCHEMA))
    else:
        table.put(3)
    base.refresh().maintenance.expire_snapshots().by_id(second).commit()

    changes = table.changes()
    end = changes.advance(position, limit=ALL)
    assert changes.plan(position, end, columns=None).table()["id"].to_pylist() == [3]


@pytest.mark.parametrize("again", [False, True])
def test_a_stream_goes_on_after_upkeep(tmp_path: Path, again: bool) -> None:
    """Without a key, where the next commit left no file of the one that the stream stands at."""
    table = Table(tmp_path, key=())
    for number in (1, 2, 3):
        table.put(number)
    changes = table.changes(stream_from="latest")
    position = changes.beginning()
    table.table.optimize(type="full")
    if again:
        table.put(4)
        position = changes.advance(position, limit=ALL)
        table.table.optimize(type="full")
    table.table.expire(options=ONE_LEFT)
    table.put(5)

    end = changes.advance(position, limit=ALL)
    assert changes.plan(position, end, columns=["id"]).table()["id"].to_pylist() == [5]


def test_a_stream_goes_on_after_a_commit_without_files(tmp_path: Path) -> None:
    """Nothing of it is left but a word of the next one."""
    table = Table(tmp_path, key=())
    table.put(1)
    table.opened().base.append(pa.table({"id": [], "v": []}, schema=SCHEMA))
    changes = table.changes(stream_from="latest")
    position = changes.beginning()
    table.put(2)
    table.table.expire(options=ONE_LEFT)

    end = changes.advance(position, limit=ALL)
    assert changes.plan(position, end, columns=["id"]).table()["id"].to_pylist() == [2]


@pytest.mark.parametrize("follower", ["append", "full"])
def test_a_stream_goes_on_after_rows_became_too_old(tmp_path: Path, follower: str) -> None:
    """Without a key, where the commit that it stands at did nothing but take partitions away."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    properties = {
        "data-expire.enabled": "true",
        "data-expire.field": "at",
        "data-expire.retention-time": "10d",
    }
    table = arctic.create_table(
        "db.t",
        schema,
        partition_by=["day(at)"],
        properties=properties,
        warehouse=str(tmp_path),
    )

    def put(number: int, days: int) -> None:
        at = datetime.now(timezone.utc) - timedelta(days=days)
        table.write(pa.table({"id": [number], "at": [at]}, schema), mode="append")

    given = {"path": "db.t", "warehouse": str(tmp_path), "stream-from": "latest"}
    changes = Changes(AskedChanges.of(given, Scope.STREAM))
    put(1, 90)
    put(2, 0)
    put(3, 0)
    table.expire()
    position = changes.beginning()
    if follower == "append":
        put(4, 0)
    else:
        assert table.optimize(type=follower).snapshot_id is not None
    table.expire(options=ONE_LEFT)
    put(5, 0)

    end = changes.advance(position, limit=ALL)
    rows = changes.plan(position, end, columns=["id"]).table()["id"].to_pylist()
    assert sorted(rows) == ([4, 5] if follower == "append" else [5])


def test_a_commit_that_was_rolled_back_is_refused_though_it_expired(tmp_path: Path) -> None:
    """The later ones are whole, but who reads on would keep its rows."""
    table = Table(tmp_path, key=())
    first, *others = [table.put(number) for number in (1, 2, 3)]
    position = table.changes(stream_from="latest").beginning()
    base = table.opened().base
    base.manage_snapshots().rollback_to_snapshot(first).commit()
    table.put(4)
    base.refresh().maintenance.expire_snapshots().by_ids(others).commit()

    with pytest.raises(NotFoundError, match="commit 3 has expired, or was rolled back before"):
        table.changes().advance(position, limit=ALL)


def test_a_table_made_anew_is_another_one(table: Table) -> None:
    """Its commits have the same numbers and other rows."""
    table.put(1)
    position = table.changes().beginning()
    arctic.drop_table("db.t", warehouse=table.warehouse)
    Table(Path(table.warehouse)).put(2)

    with pytest.raises(NotFoundError, match="UUID"):
        table.changes().advance(position, limit=ALL)


def test_columns_added_later_are_null_in_older_changes(table: Table) -> None:
    """A reader that is open keeps its columns; a new one has the new column too."""
    first = table.put(1)
    running = table.changes(stream_from="latest")
    start = running.beginning()
    opened = table.opened()
    for store in (opened.base, opened.change):
        assert store is not None
        with store.update_schema() as update:
            update.add_column("extra", LongType())
    wide = SCHEMA.append(pa.field("extra", pa.int64()))
    arctic.write(
        "db.t",
        pa.table({"id": [2], "v": ["y"], "extra": [7]}, schema=wide),
        mode="append",
        warehouse=table.warehouse,
    )
    end = running.advance(start, limit=ALL)

    assert "extra" not in running.plan(start, end, columns=None).table().column_names
    beginning = table.table.read_changes(start=first, columns=["id", "extra"]).read_all()
    assert {"id": 2, "extra": 7} in beginning.to_pylist()
    everything = table.table.read_changes(columns=["id", "extra"]).read_all().to_pylist()
    assert {"id": 1, "extra": None} in everything


def test_limits_cut_between_commits(table: Table) -> None:
    """Each micro-batch holds whole commits; together they hold every one."""
    start = table.changes(stream_from="latest").beginning()
    for number in range(3):
        table.put(number)
    third = table.changes().newest()
    for number in (3, 4):
        table.put(number)
    changes, at, steps = table.changes(), start, []
    while (end := changes.advance(at, limit=ChangeLimit(max_rows=3))) != at:
        steps.append(end.sequence_number)
        at = end

    assert steps == [1, 2, 3, 4, 5]
    assert changes.advance(start, limit=ALL, up_to=third).sequence_number == 3


def test_an_end_that_is_set_is_one_of_base_too(table: Table) -> None:
    """Who takes only what was there when he began is not in the way of an overwrite after that."""
    start = table.changes(stream_from="latest").beginning()
    table.put(1)
    changes = table.changes()
    up_to = changes.newest()
    table.put(2, mode="overwrite")

    end = changes.advance(start, limit=ALL, up_to=up_to)
    assert (end.sequence_number, end.base_sequence_number) == (1, 0)
    assert changes.advance(end, limit=ALL, up_to=up_to) == end
    with pytest.raises(UnsupportedError, match="replaced or removed rows"):
        changes.advance(end, limit=ALL)


@pytest.mark.parametrize("limit", [ALL, ChangeLimit(max_files=1)])
def test_an_unkeyed_table_streams_what_is_appended(tmp_path: Path, limit: ChangeLimit) -> None:
    """Every row that is there or comes is inserted once; rewritten files are no news."""
    table = Table(tmp_path, key=())
    table.put(1)
    table.put(2)
    changes = table.changes()
    at, got = changes.beginning(), list[int]()
    for number in (3, 4):
        table.put(number)
        table.table.optimize(type="full")
    table.put(5)
    while (end := changes.advance(at, limit=limit)) != at:
        rows = changes.plan(at, end, columns=None).table()
        assert set(rows.column("_change_action").to_pylist()) <= {"+I"}
        got += rows.column("id").to_pylist()
        at = end

    assert sorted(got) == [1, 2, 3, 4, 5]


def test_an_unkeyed_overwrite_is_refused_or_skipped(tmp_path: Path) -> None:
    """Its rows are not appended ones, and those that it replaced are not taken back."""
    table = Table(tmp_path, key=())
    first = table.put(1)
    table.put(2, mode="overwrite")
    table.put(3)

    with pytest.raises(UnsupportedError, match="'overwrite'"):
        table.inserted(start=first)
    assert table.inserted(start=first, options=SKIP) == [3]


def test_an_empty_table_has_no_changes(table: Table) -> None:
    """A stream may begin before the first row, and then misses none."""
    changes = table.changes()
    start = changes.beginning()

    assert changes.advance(start, limit=ALL) == start
    assert table.inserted() == []
    table.put(1)
    end = changes.advance(start, limit=ALL)
    assert StreamPosition.from_json(end.to_json()) == end
    assert changes.plan(start, end, columns=["id"]).table().num_rows == 2


WIDER = [
    (pa.int32(), pa.int64(), -7, 2**40),
    (pa.float32(), pa.float64(), 0.5, 0.1),
    (pa.float32(), pa.float64(), float("inf"), 1e300),
    (pa.decimal128(4, 2), pa.decimal128(9, 2), Decimal("-1.25"), Decimal("1000.00")),
]


@pytest.mark.parametrize(("narrow", "wide", "fits", "too_large"), WIDER, ids=str)
def test_a_query_that_runs_goes_on_over_a_widened_column(
    tmp_path: Path, narrow: pa.DataType, wide: pa.DataType, fits: Any, too_large: Any
) -> None:
    """With the type it began with, up to a value that has no place in it."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    ids = pa.field("id", pa.int64())
    table = arctic.create_table(
        "db.w", pa.schema([ids, ("v", narrow)]), primary_key=["id"], **place
    )
    changes = Changes(AskedChanges.of({"path": "db.w", **place}))
    start = changes.advance(changes.beginning(), limit=ALL)
    old = pa.table([[1], [fits]], schema=table.schema)
    table.write(old, mode="append")
    table = table.evolve_schema(widen={"v": wide})
    table.write(pa.table([[2, 3], [fits, None]], schema=table.schema), mode="append")
    end = changes.advance(start, limit=ALL)

    events = read(changes, start, end)

    assert events.schema.field("v").type == narrow
    assert sorted(events.select(["id", "v"]).to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "v": fits},
        {"id": 2, "v": fits},
        {"id": 3, "v": None},
    ]
    table.write(pa.table([[4], [too_large]], schema=table.schema), mode="append")
    last = changes.advance(end, limit=ALL)
    with pytest.raises(UnsupportedError, match=r"column 'v': .* restart the query"):
        read(changes, end, last)
    again = read(Changes(AskedChanges.of({"path": "db.w", **place})), end, last)
    assert again["v"].to_pylist() == [too_large]


def read(changes: Changes, start: StreamPosition, end: StreamPosition) -> pa.Table:
    """Read the events between two positions, in batches of the promised schema."""
    job = changes.plan(start, end, columns=None)
    batches = [batch for group in job.groups for batch in job.reader.read(group)]
    return pa.Table.from_batches(batches, schema=job.schema)
