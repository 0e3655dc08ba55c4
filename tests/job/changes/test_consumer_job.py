"""Consumers: where they stand, what they hold back, and who may move them."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError, FormatError, InvalidInputError, NotFoundError
from arctic.iceberg.snapshots.consumers import consumers_of
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.job.reference import table_reference

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
NET = {"change-rows": "net"}
Rows = list[tuple[Any, ...]]


def put(table: arctic.Table, *rows: tuple[int, str], mode: str = "upsert") -> None:
    """Write rows."""
    ids, texts = zip(*rows, strict=True)
    table.write(pa.table({"id": ids, "v": texts}, schema=SCHEMA), mode=mode)


def take(consumer: arctic.Consumer, *columns: str) -> Rows:
    """Read what comes next, and commit it."""
    reader = consumer.read([*columns] or ["_change_action", "id", "v"])
    if reader is None:
        return []
    rows = sorted(tuple(row.values()) for row in reader.read_all().to_pylist())
    consumer.commit()
    return rows


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """A table with a row."""
    made = arctic.create_table("db.t", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    put(made, (1, "a"))
    return made


def test_what_is_committed_is_done_and_the_rest_comes_again(table: arctic.Table) -> None:
    """Whoever asks under the name goes on there, in whatever process."""
    consumer = table.consumer("copy")
    assert take(consumer) == [("+I", 1, "a")]
    put(table, (2, "b"))
    reader = table.consumer("copy").read("id")
    assert reader is not None
    assert reader.read_all()["id"].to_pylist() == [2, 2]

    again = table.consumer("copy", options={"stream-from": "latest"})
    assert take(again) == [("+I", 2, "b"), ("-D", 2, None)]
    assert table.consumer("copy").read() is None
    assert take(table.consumer("new", options={"stream-from": "latest"})) == []
    with pytest.raises(InvalidInputError, match=r"'copy': commit without a read"):
        again.commit()


def test_the_slower_of_two_readers_is_refused(table: arctic.Table) -> None:
    """So nothing is passed over."""
    first, second = table.consumer("copy"), table.consumer("copy")
    for consumer in (first, second):
        assert consumer.read() is not None
    first.commit()
    with pytest.raises(ConflictError, match=r"'copy' of table 'db.t' was moved by others"):
        second.commit()
    assert take(second) == []
    table.drop_consumer("copy")
    for call in (second.read, second.drop):
        with pytest.raises(NotFoundError, match=r"has no consumer 'copy'; there are none"):
            call()


def test_what_a_consumer_has_not_read_stays(table: arctic.Table) -> None:
    """The change store and the snapshots of both, until it moves or has rested too long."""
    options = {"stream-from": "latest", **NET}
    consumer = table.consumer("copy", options=options)
    columns = ("_change_type", "id", "v")
    put(table, (1, "b"), (2, "x"))
    table.optimize(type="full")
    put(table, (2, "y"), mode="overwrite")
    put(table, (3, "z"))
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    listed = table.consumers().to_pylist()
    assert [(row["consumer"], row["commits_behind"], row["holds"]) for row in listed] == [
        ("copy", 2, True)
    ]
    assert listed[0]["rows_behind"] == 6
    assert listed[0]["behind"].total_seconds() >= 0

    assert take(consumer, *columns) == [
        ("delete", 1, "a"),
        ("insert", 2, "y"),
        ("insert", 3, "z"),
    ]
    assert table.consumers()["commits_behind"].to_pylist() == [0]
    before = len(table.versions())
    table.expire(options=AT_ONCE)
    assert len(table.versions()) < before

    put(table, (3, "w"))
    table.set_properties({"consumer.expiration-time": "0"})
    assert table.consumers()["holds"].to_pylist() == [False]
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    with pytest.raises(NotFoundError, match=r"what it has not read is gone.*expiration-time"):
        consumer.read()


def test_a_consumer_is_kept_alive_by_whoever_finds_nothing_new(
    table: arctic.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a table may rest for longer than a consumer may, and be optimized meanwhile."""
    consumer = table.consumer("copy", options=NET | {"start-version": "0"})
    take(consumer, "id")
    for kind in ("minor", "full"):
        table.optimize(type=kind)
    assert consumer.read() is None
    moved = table.consumers()["moved_at"]
    now_ns, day_ns = time.time_ns, 86_400 * 10**9
    for days in (20, 40):
        monkeypatch.setattr(time, "time_ns", lambda days=days: now_ns() + days * day_ns)
        assert consumer.read() is None
        assert table.consumers()["moved_at"] != moved
        moved = table.consumers()["moved_at"]
        assert consumer.read() is None
        assert table.consumers()["moved_at"] == moved
        table.expire(options=AT_ONCE | {"change.data.ttl.minutes": "1000000"})
    put(table, (2, "b"))
    assert take(consumer, "id") == [(2,)]


def test_a_table_without_a_key_has_consumers_too(tmp_path: Path) -> None:
    """Of what is appended."""
    table = arctic.create_table("db.t", SCHEMA, warehouse=str(tmp_path))
    consumer = table.consumer("copy")
    for number in range(3):
        put(table, (number, "a"), mode="append")
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    assert take(consumer) == [("+I", number, "a") for number in range(3)]
    assert table.consumers()["rows_behind"].to_pylist() == [0]


def test_a_limit_of_streams_is_one_of_a_read(table: arctic.Table) -> None:
    """Whole commits, as many as fit."""
    put(table, (2, "b"))
    options = {"start-version": "0", "streaming-max-rows-per-micro-batch": "1"}
    consumer = arctic.consumer("db.t", "copy", options=options, warehouse=warehouse(table))
    assert [len(take(consumer)) for _ in range(3)] == [2, 2, 0]
    assert arctic.consumers("db.t", warehouse=warehouse(table)).num_rows == 1
    arctic.drop_consumer("db.t", "copy", warehouse=warehouse(table))
    assert table.consumers().num_rows == 0


def test_names_and_places_that_cannot_be_are_refused(table: arctic.Table) -> None:
    """A damaged place is never taken for a new consumer; it can be dropped."""
    base = table_reference({"path": "db.t", "warehouse": warehouse(table)}).open().base
    damaged = {"arctic.consumer.copy": "{}"}
    commit_properties(base.catalog, base, damaged, (), expected={}, subject="the table")
    for call in (lambda: table.consumer("copy"), table.consumers, table.expire):
        with pytest.raises(FormatError, match=r"expected the place of a consumer; drop it"):
            call()
    table.drop_consumer("copy")
    assert table.consumers().num_rows == 0
    with pytest.raises(InvalidInputError, match=r"consumer ' ': expected a text"):
        table.consumer(" ")
    with pytest.raises(FormatError, match=re.escape("arctic.consumer.x = '{}': expected the")):
        consumers_of({"arctic.consumer.x": "{}"})


def warehouse(table: arctic.Table) -> str:
    """Return the folder of a table's catalog."""
    return table._options["warehouse"]
