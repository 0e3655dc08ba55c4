"""What became of rows: which ranges are told, and what is refused because it would be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.options import Scope
from arctic.scan.changes.change_limit import ChangeLimit

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.string())])
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
Rows = list[tuple[Any, ...]]


class Table:
    """A small table, and what is told of its rows."""

    def __init__(self, folder: Path, *, key: tuple[str, ...] = ("id",)) -> None:
        self.warehouse = str(folder)
        self.table = arctic.create_table("db.t", SCHEMA, primary_key=key, warehouse=self.warehouse)

    def put(self, *rows: tuple[int, str], mode: str = "upsert") -> None:
        """Write rows."""
        ids, texts = zip(*rows, strict=True)
        self.table.write(pa.table({"id": ids, "v": texts}, schema=SCHEMA), mode=mode)

    def rows(self, **options: str) -> Rows:
        """Return version, type, key and text of what is told."""
        given = {"change-rows": "commits", **named(options)}
        columns = ["_commit_version", "_change_type", "id", "v"]
        told = self.table.read_changes(options=given, columns=columns).read_all()
        return sorted(tuple(row.values()) for row in told.to_pylist())

    def stream(self, **options: str) -> Changes:
        """Return the changes as a stream reads them."""
        given = {"path": "db.t", "warehouse": self.warehouse, "change-rows": "commits"}
        return Changes(AskedChanges.of({**given, **named(options)}, Scope.STREAM))


def named(options: dict[str, str]) -> dict[str, str]:
    """Return arguments as options."""
    return {name.replace("_", "-"): text for name, text in options.items()}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three versions: rows, a row replaced, the same folded into base."""
    table = Table(tmp_path)
    table.put((1, "a"), (2, "b"))
    table.put((2, "c"))
    table.table.optimize(type="full")
    return table


UPDATE = [(2, "update_postimage", 2, "c"), (2, "update_preimage", 2, "b")]


def test_a_start_is_exclusive_and_an_end_inclusive(table: Table) -> None:
    """As versions, tags and snapshots; zero comes before the first commit."""
    table.table.tag("begun", version=1)
    first = table.table.versions()["change_snapshot_id"][0].as_py()

    assert table.rows(start_version="begun") == UPDATE
    assert table.rows(start_version="1", end_version="3") == UPDATE
    assert table.rows(start_version=str(first)) == UPDATE
    assert table.rows(start_snapshot_id=str(first)) == UPDATE
    assert table.rows(start_version="2") == []
    assert table.rows(start_version="0", end_version="1") == [
        (1, "insert", 1, "a"),
        (1, "insert", 2, "b"),
    ]
    table.put((2, "d"), (3, "e"))
    assert table.rows(start_version="0", change_rows="net", change_updates="false") == [
        (1, "insert", 1, "a"),
        (4, "insert", 2, "d"),
        (4, "insert", 3, "e"),
    ]
    events = table.table.read_changes(options={"start-version": "3"}).read_all()
    assert sorted(events["_change_action"].to_pylist()) == ["+I", "+I", "-D", "-D"]


def test_only_the_columns_that_are_asked_for_are_told(table: Table) -> None:
    """Of one row each, also where the key is not among them."""
    asked = {"start-version": "1", "change-rows": "net"}
    found = table.table.read_changes(options=asked, columns=["v"]).read_all()

    assert found.schema.names == ["v"]
    assert sorted(found["v"].to_pylist()) == ["b", "c"]


def test_a_table_without_a_key_tells_what_was_appended(tmp_path: Path) -> None:
    """Each row with the version of its commit, whatever was rewritten since."""
    table = Table(tmp_path, key=())
    table.put((1, "a"), (1, "a"), mode="append")
    table.put((2, "b"), mode="append")
    table.table.optimize(type="full")
    table.put((3, "c"), mode="append")

    assert table.rows(start_version="1") == [(2, "insert", 2, "b"), (4, "insert", 3, "c")]
    assert len(table.rows(start_version="0", change_rows="net")) == 4


def test_a_stream_tells_each_commit_once(table: Table) -> None:
    """The same rows, whatever was optimized since, where it began after a commit."""
    stream = table.stream(start_version="1")
    begun = stream.beginning()
    table.put((2, "d"))
    end = stream.advance(begun, limit=ChangeLimit(max_files=1))
    first = stream.plan(begun, end, columns=["_commit_version", "v"]).table().to_pylist()
    last = stream.advance(end, limit=ChangeLimit())
    table.table.optimize(type="full")
    second = stream.plan(end, last, columns=["_commit_version", "v"]).table().to_pylist()

    assert sorted(row["v"] for row in first) == ["b", "c"]
    assert sorted(row["v"] for row in second) == ["c", "d"]
    assert {row["_commit_version"] for row in second} == {4}
    unstarted = table.stream()
    with pytest.raises(InvalidInputError, match=r"the rows that are there now are no change"):
        unstarted.plan(unstarted.beginning(), last, columns=None)


def test_rows_of_before_are_read_of_what_is_merged_by_now(table: Table) -> None:
    """Also where the range began before they were."""
    table.put((1, "x"), (2, "y"))
    stream = table.stream(start_version="4")
    begun = stream.beginning()
    table.table.optimize(type="full")
    table.put((2, "z"))
    job = stream.plan(begun, stream.advance(begun, limit=ChangeLimit()), columns=["id", "v"])

    nodes = [node for group in job.groups for task in group.tasks for node in task.beginning]
    assert nodes
    assert not any(node.change_deletes for node in nodes)
    assert sorted(row["v"] for row in job.table().to_pylist()) == ["y", "z"]


@pytest.mark.parametrize(("keys", "is_opened"), [((7, 9), False), ((2, 9), True)])
def test_files_without_a_key_of_the_range_are_not_opened(
    table: Table, keys: tuple[int, int], is_opened: bool
) -> None:
    """Keys above all that there were, as of new rows, have no row of before."""
    stream = table.stream(start_version="3")
    begun = stream.beginning()
    table.put(*((key, "z") for key in keys))
    job = stream.plan(begun, stream.advance(begun, limit=ChangeLimit()), columns=["id", "v"])

    assert any(task.beginning for group in job.groups for task in group.tasks) is is_opened
    told = sorted((row["id"], row["v"]) for row in job.table().to_pylist())
    assert told == sorted([(2, "c")] * is_opened + [(key, "z") for key in keys])


def test_replaced_rows_are_told_as_their_difference(table: Table) -> None:
    """Of the commit that replaced them, and of a range around it; what is equal is none."""
    table.put((2, "c"), (7, "x"), mode="overwrite")
    replaced = [(4, "delete", 1, "a"), (4, "insert", 7, "x")]

    assert table.rows(start_version="1") == [*UPDATE, *replaced]
    assert table.rows(start_version="3", change_rows="net") == replaced
    assert table.rows(start_version="1", end_version="3") == UPDATE
    table.put((7, "y"), (8, "z"))
    updated = [
        (5, "insert", 8, "z"),
        (5, "update_postimage", 7, "y"),
        (5, "update_preimage", 7, "x"),
    ]
    assert table.rows(start_version="4") == updated
    assert table.rows(start_version="1") == [*UPDATE, *replaced, *updated]
    whole = table.rows(start_version="1", change_rows="net", change_updates="false")
    assert [each[1:] for each in whole] == [
        ("delete", 1, "a"),
        ("delete", 2, "b"),
        ("insert", 2, "c"),
        ("insert", 7, "y"),
        ("insert", 8, "z"),
    ]
    table.table.restore(version=1)
    assert table.rows(start_version="1", change_rows="net") == []
    with pytest.raises(UnsupportedError, match=r"replaced or removed rows in the base store"):
        table.table.read_changes(options={"start-version": "1"})


def test_a_range_tells_no_row_that_is_the_same(table: Table) -> None:
    """By all its columns, also where one of them is wanted."""
    table.put((1, "a"), (2, "d"))
    assert table.rows(start_version="3", change_rows="net") == [
        (4, "update_postimage", 2, "d"),
        (4, "update_preimage", 2, "c"),
    ]
    asked = {"start-version": "3", "change-rows": "net"}
    keys = table.table.read_changes(options=asked, columns=["id"]).read_all()
    assert keys["id"].to_pylist() == [2, 2]


def test_a_stream_goes_on_across_replaced_rows(table: Table) -> None:
    """Restarted before each batch, a copy that takes its changes ends as the table is."""
    copy: dict[int, str] = {}
    position = table.stream(start_version="0").beginning()
    for step in range(6):
        if step in (1, 3):
            table.put((2, "z"), (3 + step, "n"), mode="overwrite")
        if step in (2, 3):
            table.put((2, "o"), (4, f"p{step}"))
        if step == 4:
            table.put((6, "t"))
            table.table.optimize(type="full")
        if step == 5:
            table.table.restore(version=2)
        stream = table.stream(start_version="0", change_rows="net")
        end = stream.advance(position, limit=ChangeLimit(max_files=1))
        while end != position:
            told = stream.plan(position, end, columns=None).table().to_pylist()
            for row in told:
                if row["_change_type"] in ("delete", "update_preimage"):
                    assert copy.pop(row["id"]) == row["v"]
            for row in told:
                if row["_change_type"] in ("insert", "update_postimage"):
                    assert row["id"] not in copy
                    copy[row["id"]] = row["v"]
            position, end = end, stream.advance(end, limit=ChangeLimit(max_files=1))
        rows = table.table.read().read_all().to_pylist()
        assert copy == {row["id"]: row["v"] for row in rows}


def test_a_stream_with_an_end_leaves_rows_that_are_replaced_after_that(table: Table) -> None:
    """Else it would go on for as long as others overwrite."""
    stream = table.stream(stream_from="latest")
    start = stream.beginning()
    table.put((3, "x"), mode="overwrite")
    table.put((4, "y"))
    up_to = stream.newest()
    end, ends = start, []
    for text in "abc":
        table.put((3, text), mode="overwrite")
        table.put((5, text))
        end = stream.advance(end, limit=ChangeLimit(), up_to=up_to)
        ends.append(end)

    assert ends == [ends[0]] * 3
    assert (end.sequence_number, end.base_sequence_number) == (
        up_to.sequence_number,
        up_to.base_sequence_number,
    )
    told = stream.plan(start, end, columns=["_change_type", "id", "v"]).table().to_pylist()
    assert sorted(tuple(row.values()) for row in told) == [
        ("delete", 1, "a"),
        ("delete", 2, "c"),
        ("insert", 3, "x"),
        ("insert", 4, "y"),
    ]
    rest = stream.advance(end, limit=ChangeLimit())
    told = stream.plan(end, rest, columns=["_change_type", "id", "v"]).table().to_pylist()
    assert ("insert", 5, "c") in [tuple(row.values()) for row in told]


def test_a_stream_goes_on_where_a_column_comes_to_take_null(tmp_path: Path) -> None:
    """It never said that there is none, but in the key."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    parts = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    columns = pa.schema(
        [SCHEMA.field("id"), pa.field("v", pa.string(), nullable=False), pa.field("s", parts)]
    )
    table = arctic.create_table("db.t", columns, primary_key=["id"], **place)
    given = {"path": "db.t", "change-rows": "commits", "start-version": "0", **place}
    stream = Changes(AskedChanges.of(given, Scope.STREAM))
    begun = stream.beginning()
    first = {"id": 1, "v": "a", "s": {"a": 7}}
    table.write(pa.Table.from_pylist([first], columns), mode="upsert")
    change = SchemaChange(optional=("v",))
    evolved = evolve_schema(CatalogConfig.from_options(place), "db.t", change)
    second = {"id": 2, "v": None, "s": None}
    rows = pa.Table.from_pylist([second], evolved.arrow_schema)
    table.refresh().write(rows, mode="upsert")

    end = stream.advance(begun, limit=ChangeLimit())
    told = stream.plan(begun, end, columns=["id", "v", "s"]).table()

    assert [field.nullable for field in told.schema] == [False, True, True]
    assert sorted(told.to_pylist(), key=lambda row: row["id"]) == [first, second]


def test_history_that_expired_is_refused(table: Table) -> None:
    """Rows that nobody can tell of are never left out."""
    table.put((2, "d"))
    table.table.optimize(type="full")
    table.table.expire(options=AT_ONCE)
    table.put((2, "e"))

    for start in ("0", "1", "2", "3"):
        with pytest.raises(NotFoundError):
            table.rows(start_version=start)
    with pytest.raises(NotFoundError, match=r"has no version and no snapshot 99"):
        table.rows(start_version="6", end_version="99")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"change_updates": "false", "change_rows": "events"},
            r"change-updates without change-rows",
        ),
        ({"change_compares": "columns", "change_rows": "events"}, r"change-compares without"),
        ({"streaming_skip_overwrite_snapshots": "true"}, r"beside change-rows = 'commits'"),
        ({"start_timestamp": "5"}, r"start-version and start-timestamp"),
        ({"change_rows": "all"}, r"change-rows = 'all'"),
    ],
    ids=["updates of events", "columns of events", "overwrites", "two starts", "unknown"],
)
def test_options_that_contradict_each_other_are_refused(
    table: Table, options: dict[str, str], expected: str
) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidInputError, match=expected):
        table.rows(start_version="1", **options)


def test_columns_that_changes_have_themselves_are_refused(tmp_path: Path) -> None:
    """Nobody could tell which one is meant; the events have other columns."""
    schema = pa.schema([*SCHEMA, pa.field("_change_type", pa.string())])
    table = arctic.create_table("db.t", schema, primary_key="id", warehouse=str(tmp_path))

    with pytest.raises(InvalidInputError, match=r"has a column '_change_type'"):
        table.read_changes(options={"start-version": "0", "change-rows": "net"})


def test_a_caller_who_needs_no_more_is_told_only_rows_that_differ_in_what_he_reads(
    tmp_path: Path,
) -> None:
    """Of a range and of replaced rows; everybody else is told every row that changed."""
    schema = pa.schema([*SCHEMA, pa.field("n", pa.int64())])
    table = arctic.create_table("db.t", schema, primary_key="id", warehouse=str(tmp_path))
    first = pa.table({"id": [1, 2, 3], "v": ["a", "b", None], "n": [1, 2, 3]}, schema=schema)
    table.write(first)
    given = {"path": "db.t", "warehouse": str(tmp_path), "change-rows": "net"}
    for compares in ("rows", "columns"):
        asked = {**given, "start-version": "1", "change-compares": compares}
        changes = Changes(AskedChanges.of(asked, Scope.CHANGES))
        for mode in ("upsert", "overwrite"):
            table.write(first, mode=mode)
            others = pa.table({"id": [1, 3], "v": ["z", None], "n": [1, 4]}, schema=schema)
            table.write(others, mode="upsert")
            start = changes.beginning()
            end = changes.advance(start, limit=ChangeLimit())
            told = changes.plan(start, end, columns=["v", "_change_type"]).table()
            found = {tuple(row.values()) for row in told.to_pylist()}
            of_first = {("a", "update_preimage"), ("z", "update_postimage")}
            of_third = {(None, "update_preimage"), (None, "update_postimage")}
            assert found == (of_first if compares == "columns" else of_first | of_third)
