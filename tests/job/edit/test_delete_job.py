"""Rows go by a condition: by metadata where it covers files, by key, or by files written anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import UnsupportedError
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import open_table
from arctic.job.edit import commit_edit, delete_job
from tests.iceberg.stores import commit_files, config_of, position_delete
from tests.job.edit.rows import LAYOUTS, ROWS, SCHEMA, ids_of, make, rows_of


@pytest.mark.parametrize("layout", LAYOUTS)
def test_exactly_the_rows_go_that_match(tmp_path: Path, layout: str) -> None:
    """As a filter of reads says, or SQL that only DuckDB knows; null matches nothing."""
    for number, (where, left) in enumerate(
        {
            "city = 'Rome'": [2, 3, 5],
            "n > 3 or city is null": [1, 2],
            "n + 1 = 4": [1, 2, 4, 5],
            "lower(city) = 'oslo'": [1, 3, 4, 5],
            "x > 4": [1, 3, 4],
            "x / (n - 4) > 1": [1, 2, 3, 4],
        }.items()
    ):
        table = make(tmp_path / str(number), layout, merged=number % 2 == 0)
        before = rows_of(table)

        report = table.delete(where)

        assert ids_of(table) == left, where
        assert rows_of(table) == [row for row in before if row["id"] in left]
        assert report.rows_deleted in (5 - len(left), None)
        table.optimize(type="full")
        assert ids_of(table) == left, where
        assert table.delete("id = 99").snapshot_id is None


@pytest.mark.parametrize(("city", "attempts"), [("Bern", 1), ("Oslo", 1), ("Rome", 2)])
def test_deletes_of_others_are_in_the_way_in_partitions_of_files_that_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, city: str, attempts: int
) -> None:
    """Not those elsewhere, old or new, which the filter need not have listed."""
    table = make(tmp_path, "no key, partitions")
    opened = open_table(config_of(tmp_path), "m.t")
    listed = list_files(opened, pin(opened), field_ids=(), row_filter=None).base
    oldest = sorted(listed, key=lambda file: -file.sequence_number)
    files = {file.partition[0]: file.path for file in oldest}

    def mark(name: str, city: str) -> None:
        delete = position_delete(opened, [(files[city], 0)], (city,), name)
        commit_files(opened.base, delete)

    mark("old.parquet", "Oslo")
    commit, calls = delete_job.__dict__["commit_removal"], list[int]()

    def beside(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            mark("new.parquet", city)
        return commit(*arguments, **named)

    monkeypatch.setattr(delete_job, "commit_removal", beside)
    table.delete("city = 'Rome' and n > 3")

    gone = {"Bern": 5, "Oslo": 2, "Rome": 1}[city]
    assert len(calls) == attempts
    assert ids_of(table) == [each for each in (1, 3, 5) if each != gone]


def test_a_backslash_in_a_pattern_is_the_same_whoever_evaluates_it(tmp_path: Path) -> None:
    """Of one condition a filter of reads can say all, of the other DuckDB is asked."""
    texts = ["a_c", "abc", "A_c", "a%c", "a\\c"]
    table = arctic.create_table(
        "m.t", pa.schema([("v", pa.string())]), warehouse=str(tmp_path), primary_key="v"
    )
    for pattern, gone in {r"a\_%": {"a_c"}, r"_\%c": {"a%c"}, r"a\\_": {"a\\c"}}.items():
        for condition in ("v like '{}'", "v like '{}' and length(v) > 0"):
            table.write(pa.table({"v": texts}), mode="upsert")
            table.delete(condition.format(pattern))
            left = set(table.read().read_all()["v"].to_pylist())
            assert set(texts) - left == gone, condition.format(pattern)
    table.write(pa.table({"v": texts}), mode="upsert")
    table.delete(r"v not ilike 'a\_%' or length(v) = 0")
    assert set(table.read().read_all()["v"].to_pylist()) == {"a_c", "A_c"}


def test_whole_partitions_go_by_metadata(tmp_path: Path) -> None:
    """With the changes that lie on them, and nothing comes back by optimizing or a later write."""
    for layout in ("moving", "no key, partitions"):
        table = make(tmp_path / layout, layout, merged=True)

        report = table.delete("city in ('Rome', 'Bern')")

        assert not report.reads_table
        assert report.rows_written == 0
        assert ids_of(table) == [2, 3]
        mode = "upsert" if table.is_keyed else "append"
        table.write(pa.Table.from_pylist([ROWS[0]], SCHEMA), mode=mode)
        table.optimize(type="full")
        table.expire(options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"})
        assert ids_of(table) == [1, 2, 3]


def test_whole_files_go_by_metadata_without_a_key(tmp_path: Path) -> None:
    """Bounds prove it."""
    table = make(tmp_path, "no key")

    assert table.delete("id <= 3").reads_table is False
    assert ids_of(table) == [4, 5]
    assert table.delete("id <= 4").reads_table is True
    assert ids_of(table) == [5]
    report = table.delete()
    assert not report.reads_table
    assert ids_of(table) == []


def test_readers_of_changes_are_told_the_same_whatever_was_optimized(tmp_path: Path) -> None:
    """With a key: of rows by their condition, and nothing of whole partitions, as of a table."""
    for layout in ("keyed", "moving"):
        for merged in (False, True):
            table = make(tmp_path / f"{layout} {merged}", layout)
            if merged:
                table.optimize(type="full")
            begun = table.write(pa.Table.from_pylist([ROWS[0]], SCHEMA), mode="upsert").snapshot_id
            assert table.delete("id <= 3").reads_table is True
            or_city = table.delete("city = 'Rome' or id > 99")
            assert (or_city.rows_deleted, or_city.reads_table) == (1, True)
            options = {"start-snapshot-id": str(begun)}
            told = table.read_changes(options=options).read_all()
            assert sorted(told["id"].to_pylist()) == [1, 2, 3, 4], (layout, merged)
            assert ids_of(table) == [5]

            assert table.delete("city = 'Bern'").reads_table is (layout == "keyed")
            if layout == "moving":
                with pytest.raises(UnsupportedError, match="no change says so"):
                    table.read_changes(options=options)


def test_a_float_that_is_no_number_is_never_covered(tmp_path: Path) -> None:
    """Bounds do not tell of NaN, which matches no comparison."""
    table = arctic.create_table("m.t", SCHEMA, warehouse=str(tmp_path))
    rows = [{"id": 1, "x": 1.0}, {"id": 2, "x": float("nan")}]
    table.write(pa.Table.from_pylist(rows, SCHEMA))

    assert table.delete("x < 5").rows_deleted == 1
    assert ids_of(table) == [2]


@pytest.mark.parametrize("layout", ["keyed", "moving"])
def test_a_commit_in_between_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """A row that another commit changed meanwhile is judged as it is then."""
    table = make(tmp_path, layout)
    commit = commit_edit.__dict__["commit_append"]
    changed: dict[str, Any] = {**ROWS[0], "city": "Bonn"}
    others = [pa.Table.from_pylist([changed], SCHEMA)]

    def late(*arguments: Any, **named: Any) -> Any:
        if others:
            other = arctic.open_table("m.t", warehouse=str(tmp_path))
            other.write(others.pop(), mode="upsert")
        return commit(*arguments, **named)

    monkeypatch.setattr(commit_edit, "commit_append", late)
    report = table.delete("city = 'Rome' and x > 0")

    assert (report.attempts, report.rows_deleted) == (2, 1)
    assert ids_of(table) == [1, 2, 3, 5]


def test_rows_that_come_to_a_partition_meanwhile_are_judged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a table without a key, whose files would go with the others."""
    table = make(tmp_path, "no key, partitions")
    commit = delete_job.__dict__["commit_removal"]
    others = [pa.Table.from_pylist([{"id": 6, "city": "Rome"}], SCHEMA)]

    def late(*arguments: Any, **named: Any) -> Any:
        if others:
            arctic.open_table("m.t", warehouse=str(tmp_path)).write(others.pop())
        return commit(*arguments, **named)

    monkeypatch.setattr(delete_job, "commit_removal", late)
    report = table.delete("city = 'Rome'")

    assert (report.attempts, report.rows_deleted) == (2, 3)
    assert ids_of(table) == [2, 3, 5]


def test_what_is_no_condition_is_refused(tmp_path: Path) -> None:
    """With what is wrong, and nothing is deleted."""
    table = make(tmp_path, "keyed")
    for where in (
        "city = ",
        "nothing = 1",
        "n + 1",
        "true) or (true",
        "1; select 2",
        "count(*) > 0",
    ):
        with pytest.raises(arctic.InvalidInputError, match=r"condition|expression|filter"):
            table.delete(where)
    assert len(ids_of(table)) == 5
