"""What readers of changes are told of the updates and deletes of a merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.job.edit.rows import ROWS, make

SOURCE = pa.table({"id": [1], "n": pa.array([10], pa.int32())})
OLD = ROWS[0]
NEW = {**OLD, "city": "Bonn", "n": 10}


def key_of(row: dict[str, Any], *more: str) -> dict[str, Any]:
    """Return a row of which the other columns are null."""
    return {name: value if name in ("id", *more) else None for name, value in row.items()}


def told(table: arctic.Table, after: int | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the events since a commit, in their order."""
    found = table.read_changes(start=after).read_all()
    order = [("_transaction_id", "ascending"), ("_file_offset", "ascending")]
    rows = found.sort_by([*order, ("_change_action", "descending")]).to_pylist()
    return [(row["_change_action"], {name: row[name] for name in OLD}) for row in rows]


def begun(folder: Path, layout: str) -> tuple[arctic.Table, int | None]:
    """Return a table with ``ROWS``, and its newest commit."""
    table = make(folder, layout)
    last = table.write(pa.Table.from_pylist(ROWS[4:], table.schema), mode="upsert")
    return table, last.snapshot_id


@pytest.mark.parametrize("layout", ["keyed", "in key"])
def test_an_update_that_read_a_part_of_a_row_tells_its_key(tmp_path: Path, layout: str) -> None:
    """Null in the columns that it sets unseen would be taken for what was there."""
    table, before = begun(tmp_path, layout)

    table.merge(SOURCE).when_matched_update({"city": "'Bonn'", "n": "source.n"}).execute()

    assert told(table, before) == [("-D", key_of(OLD)), ("+I", NEW)]


def test_an_update_tells_the_old_row_where_that_tells_the_partition(tmp_path: Path) -> None:
    """Then all of it is read."""
    table, before = begun(tmp_path, "moving")

    merge = table.merge(SOURCE.rename_columns(["id", "more"]))
    merge.when_matched_update({"city": "'Bonn'", "n": "source.more"}).execute()

    assert told(table, before) == [("-U", OLD), ("+U", NEW)]


@pytest.mark.parametrize("layout", ["keyed", "moving", "in key"])
def test_an_update_that_read_the_whole_row_tells_it(tmp_path: Path, layout: str) -> None:
    """As an update without a source does."""
    table, before = begun(tmp_path, layout)

    merge = table.merge(SOURCE)
    merge.when_matched_update(
        {"city": "'Bonn'", "n": "source.n"}, condition="target.n = 1 or target.city = 'x'"
    ).execute()

    assert told(table, before) == [("-U", OLD), ("+U", NEW)]


@pytest.mark.parametrize("layout", ["keyed", "moving", "in key"])
def test_a_delete_tells_the_whole_row_or_what_says_where_it_is(tmp_path: Path, layout: str) -> None:
    """Never some more columns, of which nobody could say whether they were null."""
    table, before = begun(tmp_path, layout)

    table.merge(SOURCE).when_matched_delete(condition="target.n = 1").execute()

    where = ["city"] if layout == "moving" else []
    assert told(table, before) == [("-D", key_of(OLD, *where))]


def test_a_row_that_gets_another_key_is_told_likewise(tmp_path: Path) -> None:
    """It goes, and comes anew."""
    table, before = begun(tmp_path, "keyed")

    merge = table.merge(SOURCE.rename_columns(["id", "more"]))
    merge.when_matched_update({"id": "9", "n": "source.more"}).execute()

    new = {**OLD, "id": 9, "n": 10}
    assert told(table, before) == [("-D", key_of(OLD)), ("-D", key_of(new)), ("+I", new)]
