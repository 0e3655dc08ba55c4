"""What an engine is asked for, done without it: the same rows, or nothing at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arctic
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.job.edit import small_edit
from arctic.job.edit.edit_report import EditReport
from arctic.job.reference import parse_reference
from arctic.writing.rows.key_count import RepeatedKeyError
from tests.job.edit.rows import ROWS, SCHEMA, make, rows_of


def _edit(table: arctic.Table, folder: Path, where: str, new_rows: Any) -> EditReport | None:
    reference = parse_reference({"path": "m.t", "warehouse": str(folder)})
    predicate = parse_filter(where, reference.open())
    done = small_edit.small_edit(reference, "UPDATE", lambda described: predicate, new_rows)
    return None if done is None else done.report


def _moved_on(rows: pa.Table) -> pa.Table:
    rows = rows.set_column(1, SCHEMA.field("city"), pa.repeat("Nome", rows.num_rows))
    return rows.set_column(
        2, SCHEMA.field("n"), pc.add_checked(rows.column("n"), pa.scalar(1, pa.int32()))
    )


@pytest.mark.parametrize("layout", ["keyed", "moving", "in key"])
def test_rows_are_changed_and_go_as_the_table_itself_does_it(tmp_path: Path, layout: str) -> None:
    """Each in one commit, also where rows move to another partition."""
    table, twin = (make(tmp_path / name, layout, merged=True) for name in ("a", "b"))

    for where in ("n >= 4", "n = 3 or city = 'Rome'"):
        before = table.history().num_rows
        report = _edit(table, tmp_path / "a", where, _moved_on)
        expected = twin.update(where, set={"city": "'Nome'", "n": "n + 1"})
        assert report is not None
        assert (report.rows_updated, table.history().num_rows) == (
            expected.rows_updated,
            before + 1,
        )
        assert rows_of(table) == rows_of(twin)
    gone = _edit(table, tmp_path / "a", "n > 4 or city is null", None)
    twin.delete("n > 4 or city is null")

    assert gone is not None
    assert rows_of(table) == rows_of(twin)
    assert 0 < len(rows_of(table)) < len(ROWS)


@pytest.mark.parametrize("layout", ["keyed", "in key", "moving"])
def test_an_old_row_is_told_only_where_it_says_where_it_lies(tmp_path: Path, layout: str) -> None:
    """Elsewhere a row is deleted by its key alone, as tasks of the engine do it."""
    table = make(tmp_path, layout)
    start = table.versions()["change_snapshot_id"][-1].as_py()

    assert _edit(table, tmp_path, "id = 1", _moved_on) is not None

    changes = table.read_changes(start=start).read_all().to_pylist()
    told = [(row["_change_action"], row["id"], row["n"], row["x"]) for row in changes]
    by_key = [("-D", 1, None, None), ("+I", 1, 2, 1.5)]
    both = [("-U", 1, 1, 1.5), ("+U", 1, 2, 1.5)]
    assert told == (both if layout == "moving" else by_key)


def test_a_row_that_gets_another_key_is_told_by_its_old_one(tmp_path: Path) -> None:
    """Not with some more columns beside it, of which others were not even read."""

    def renumbered(rows: pa.Table, source: pa.Table = small_edit.NO_SOURCE) -> pa.Table:
        rows = rows.set_column(0, SCHEMA.field("id"), pa.array([9]))
        return rows.set_column(1, SCHEMA.field("city"), pa.array(["Nome"]))

    table = make(tmp_path, "keyed")
    start = table.versions()["change_snapshot_id"][-1].as_py()
    reference = parse_reference({"path": "m.t", "warehouse": str(tmp_path)})
    where = parse_filter("id = 1", reference.open())
    small_edit.small_edit(reference, "UPDATE", lambda _: where, renumbered, overwritten={"city"})

    changes = table.read_changes(start=start).read_all().to_pylist()
    found = [(row["_change_action"], *(row[name] for name in SCHEMA.names)) for row in changes]
    by_key = [("-D", number, None, None, None) for number in (1, 9)]
    assert found == [*by_key, ("+I", 9, "Nome", 1, 1.5)]


def test_what_is_not_for_this_process_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many rows, too many bytes, a value that the engine may make otherwise, no key."""

    def refuses(rows: pa.Table) -> pa.Table:
        raise small_edit.NotHereError

    table = make(tmp_path / "keyed", "keyed")
    make(tmp_path / "bag", "no key")
    files = sorted((tmp_path / "keyed" / "m").rglob("*.*"))
    assert _edit(table, tmp_path / "bag", "n > 0", None) is None
    assert _edit(table, tmp_path / "keyed", "n > 0", refuses) is None
    monkeypatch.setattr(small_edit, "MOST_ROWS", 2)
    assert _edit(table, tmp_path / "keyed", "n > 0", None) is None
    monkeypatch.setattr(small_edit, "MOST_ROWS", 100)
    monkeypatch.setattr(small_edit, "MOST_BYTES", 100)
    assert _edit(table, tmp_path / "keyed", "n > 0", None) is None

    assert sorted((tmp_path / "keyed" / "m").rglob("*.*")) == files
    assert rows_of(table) == ROWS


def test_a_key_that_is_stored_twice_is_refused(tmp_path: Path) -> None:
    """As the engine's command refuses it: of two rows one would be lost."""
    table = make(tmp_path, "keyed")
    table.write(pa.Table.from_pylist([{**ROWS[0], "n": 9}], SCHEMA), mode="append")
    before = rows_of(table)

    with pytest.raises(RepeatedKeyError, match=r"'m\.t': several rows have the key"):
        _edit(table, tmp_path, "id = 1", _moved_on)
    assert rows_of(table) == before


@pytest.mark.parametrize("layout", ["keyed", "moving", "in key"])
def test_old_values_of_overwritten_columns_are_not_read(tmp_path: Path, layout: str) -> None:
    """Unless the old row is written, because it tells from which partition it goes."""
    table, twin = (make(tmp_path / name, layout, merged=True) for name in ("a", "b"))
    seen: list[set[object]] = []

    def renamed(rows: pa.Table, source: pa.Table = small_edit.NO_SOURCE) -> pa.Table:
        assert rows.schema.equals(SCHEMA)
        seen.append(set(rows.column("city").to_pylist()))
        return rows.set_column(1, SCHEMA.field("city"), pa.repeat("Nome", rows.num_rows))

    where = "city = 'Rome' or n >= 4"
    reference = parse_reference({"path": "m.t", "warehouse": str(tmp_path / "a")})
    predicate = parse_filter(where, reference.open())
    done = small_edit.small_edit(
        reference, "UPDATE", lambda described: predicate, renamed, overwritten={"city"}
    )
    twin.update(where, set={"city": "'Nome'"})

    assert done is not None
    assert done.report.rows_updated
    assert rows_of(table) == rows_of(twin)
    assert (set().union(*seen) == {None}) == (layout != "moving")
