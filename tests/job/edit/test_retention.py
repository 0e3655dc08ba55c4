"""Rows go when they are too old, by metadata, and none comes back."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import StorageError
from arctic.job.edit import retention
from tests.job.past.states import NOW, catalog_table

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("day", pa.string()),
    ]
)
TODAY = datetime.now(timezone.utc)


def row(number: int, days_old: float | None) -> dict[str, Any]:
    """Return a row of an age."""
    if days_old is None:
        return {"id": number, "at": None, "day": None}
    at = TODAY - timedelta(days=days_old)
    return {"id": number, "at": at, "day": f"{at:%Y-%m-%d}"}


def write(table: arctic.Table, *rows: dict[str, Any]) -> None:
    """Write rows as the table takes them."""
    table.write(pa.Table.from_pylist(list(rows), SCHEMA))


def ids(table: arctic.Table) -> list[int]:
    """Return the ids of all rows."""
    return sorted(table.read(columns="id").read_all()["id"].to_pylist())


def make(folder: Path, **arguments: Any) -> arctic.Table:
    """Create a table whose rows stay for ten days."""
    properties = {
        "data-expire.enabled": "true",
        "data-expire.field": "at",
        "data-expire.retention-time": "10d",
        **arguments.pop("properties", {}),
    }
    return arctic.create_table(
        "m.t", SCHEMA, warehouse=str(folder), properties=properties, **arguments
    )


@pytest.mark.parametrize("key", ["", "id"])
def test_partitions_go_in_which_all_rows_are_too_old(tmp_path: Path, key: str) -> None:
    """With the changes on them, merged or not; a dry run says it beforehand."""
    table = make(tmp_path, primary_key=key or (), partition_by=["day(at)"])
    write(table, row(1, 30), row(2, 5), row(3, None))
    if key:
        table.optimize(type="full")
    write(table, row(4, 30.001), row(5, 40), row(6, 1))

    said = table.expire(dry_run=True)
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    done = table.expire()

    assert said.items == done.items
    assert [item.kind.value for item in done.items] == ["file of expired rows"] * 3
    assert ids(table) == [2, 3, 6]
    assert not table.expire().items
    write(table, row(1, 2))
    for _ in range(2):
        table.optimize(type="full")
        assert ids(table) == [1, 2, 3, 6]
        table.expire(options=NOW)
        assert ids(table) == [1, 2, 3, 6]


def test_files_go_where_the_level_says_so(tmp_path: Path) -> None:
    """Only those of base; a younger change of an old row stays, and is the row."""
    properties = {"data-expire.level": "file", "base.file-index.hash-bucket": "4"}
    table = make(tmp_path, primary_key="id", properties=properties)
    write(table, row(1, 30), row(2, 20))
    table.optimize(type="full")
    write(table, row(2, 1), row(3, 40))

    assert not table.expire(options={"data-expire.level": "partition"}).items
    assert len(table.expire().items) == 2  # a file for each node
    assert ids(table) == [2, 3]
    table.optimize(type="full")
    assert ids(table) == [2, 3]
    assert table.read(filter="id = 2").read_all().num_rows == 1


def test_who_may_only_read_is_told_what_would_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is refused as soon as something is to go."""
    table = make(tmp_path, primary_key="id", partition_by=["day(at)"])
    write(table, row(1, 30), row(2, 5))
    table.optimize(type="full")
    write(table, row(3, 30))
    said = table.expire(dry_run=True).items
    assert said
    for place in ("kept_catalogs", "opening"):
        monkeypatch.setattr(f"arctic.iceberg.catalogs.{place}.may_only_read", lambda _: True)

    assert arctic.expire("m.t", warehouse=str(tmp_path), dry_run=True).items == said
    with pytest.raises(StorageError, match="no permission to write"):
        arctic.expire("m.t", warehouse=str(tmp_path))
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize("key", ["", "id"])
def test_a_young_row_that_comes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """The files said that all rows are too old, and then there are others."""
    table = make(tmp_path, primary_key=key or ())
    write(table, row(1, 30))
    table.optimize(type="full")
    commit = retention.__dict__["commit_removal"]
    young = [row(2, 1)]

    def late(*arguments: Any) -> Any:
        if young:
            other = arctic.open_table("m.t", warehouse=str(tmp_path))
            write(other, young.pop())
            other.optimize(type="full")
        return commit(*arguments)

    monkeypatch.setattr(retention, "commit_removal", late)
    table.expire()

    assert ids(table) in ([2], [1, 2])
    table.optimize(type="full")
    assert 2 in ids(table)


def test_an_age_is_counted_from_the_last_write_or_from_now(tmp_path: Path) -> None:
    """A table that nobody writes keeps its rows, whatever branches get, unless told otherwise."""
    table = make(tmp_path)
    write(table, row(1, 1))
    written = table.inspect("snapshots").column("committed_at").to_pylist()[0]
    # As old as it may be at the time of the write, to the millisecond; and then too old.
    at = table.read().read_all().column("at")[0].as_py()
    age_ms = (written - at) // timedelta(milliseconds=1)
    keep = {"data-expire.retention-time": f"{age_ms + 1}ms"}
    while datetime.now(timezone.utc) - written < timedelta(milliseconds=3):
        time.sleep(0.001)
    table.create_branch("x")
    write(arctic.open_table("m.t.branch_x", warehouse=str(tmp_path)), row(2, 0))

    assert not table.expire(options=keep).items
    by_now = {**keep, "data-expire.base-on-rule": "CURRENT_TIME"}
    assert len(table.expire(options=by_now).items) == 1
    assert ids(table) == []


def write_now(table: arctic.Table, number: int) -> None:
    """Write a row that is as old as its write."""
    write(table, {"id": number, "at": datetime.now(timezone.utc)})


def fed_once(folder: Path, key: str) -> arctic.Table:
    """Make a table whose rows a write from now on makes too old; there is something to optimize."""
    expiring = {"data-expire.retention-time": "1500ms"}
    table = make(folder, primary_key=key or (), partition_by=["id"], properties=expiring)
    for _ in range(2):
        write_now(table, 1)
        table.optimize(type="minor")
    time.sleep(2)
    return table


@pytest.mark.parametrize("key", ["", "id"])
def test_a_clone_of_a_table_that_nobody_feeds_keeps_its_rows(tmp_path: Path, key: str) -> None:
    """It is no write; the first one to the clone lets them go."""
    source = fed_once(tmp_path, key)
    arctic.clone("m.t", "m.c", warehouse=str(tmp_path))
    copy = arctic.open_table("m.c", warehouse=str(tmp_path))
    for table in (source, copy):
        table.expire()
        assert set(ids(table)) == {1}

    write_now(copy, 2)
    copy.expire()
    assert (set(ids(copy)), set(ids(source))) == ({2}, {1})


@pytest.mark.parametrize("key", ["", "id"])
def test_what_was_restored_is_kept_until_the_next_write(tmp_path: Path, key: str) -> None:
    """What it took the place of is no write any more, also where expiry has forgotten it."""
    table = fed_once(tmp_path, key)
    version = int(table.versions()["version"][-1].as_py())
    write_now(table, 9)
    table.restore(version)
    table.expire()
    assert set(ids(table)) == {1}
    for _ in range(2):
        table.optimize(type="full")
        table.expire(options={"snapshot.keep.duration": "0"})
        assert set(ids(table)) == {1}
    summaries = [each.summary for each in catalog_table(tmp_path, "m.t").metadata.snapshots]
    assert not any(each["arctic.restored-from"] for each in summaries if each is not None)

    write_now(table, 2)
    table.expire()
    assert ids(table) == [2]


def test_to_adopt_a_table_again_is_no_write(tmp_path: Path) -> None:
    """Its new change store begins with a snapshot that holds nothing."""
    fed_once(tmp_path, "id")
    arctic.release("m.t", warehouse=str(tmp_path))
    table = arctic.adopt("m.t", primary_key="id", warehouse=str(tmp_path))
    table.expire()

    assert ids(table) == [1]


def test_texts_tell_an_age_where_they_sort_like_times(tmp_path: Path) -> None:
    """By their pattern."""
    table = make(tmp_path, partition_by=["day"], properties={"data-expire.field": "day"})
    write(table, row(1, 30), row(2, 5), row(3, None))

    with pytest.raises(arctic.InvalidInputError, match="in this order"):
        table.expire(options={"data-expire.datetime-string-pattern": "dd.MM.yyyy"})
    for number, text in enumerate(("", "01/02/2099", "soon", "2020-1-1"), start=4):
        write(table, {"id": number, "day": text})
    table.expire()
    assert ids(table) == [2, 3, 4, 5, 6, 7]
    by_file = {"data-expire.level": "file", "data-expire.field": "day"}
    table = make(tmp_path / "files", properties=by_file)
    write(table, row(1, 30), row(2, 29))
    write(table, row(3, 30), {"id": 4, "day": "01/02/2099"})
    table.expire()
    assert ids(table) == [3, 4]


def test_followers_are_not_told_of_rows_that_became_too_old(tmp_path: Path) -> None:
    """They read on; the rows are no change."""
    table = make(tmp_path, primary_key="id", partition_by=["day(at)"])
    write(table, row(1, 30))
    start = table.versions()["change_snapshot_id"][-1].as_py()
    table.expire()
    table.write(pa.Table.from_pylist([row(2, 1)], SCHEMA), mode="append")

    changes = table.read_changes(start=start, columns=["id"]).read_all()
    assert changes["id"].to_pylist() == [2]


def test_settings_that_say_nothing_are_refused(tmp_path: Path) -> None:
    """A column that is not there or tells no time, and a missing age; a rename is followed."""
    table = make(tmp_path)
    write(table, row(1, 30))
    for options in ({"data-expire.field": "no"}, {"data-expire.datetime-string-pattern": "x"}):
        given = {"data-expire.field": "day", **options}
        with pytest.raises(arctic.InvalidInputError, match="data-expire"):
            table.expire(options=given)
    table.evolve_schema(rename={"at": "seen"})
    assert table.properties["data-expire.field"] == "seen"
    assert len(table.expire().items) == 1
    table.unset_properties("data-expire.retention-time")
    with pytest.raises(arctic.InvalidInputError, match="such as '30d'"):
        table.expire()
