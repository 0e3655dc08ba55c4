"""A merge that an engine is asked for, done without it: the same rows, or nothing at all."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.job.edit import small_edit
from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.merging.small_merge import small_merge
from arctic.job.reference import parse_reference
from arctic.writing.rows.key_count import RepeatedKeyError
from tests.job.edit.rows import ROWS, SCHEMA, make, rows_of

NUMBERS = st.one_of(st.none(), st.integers(-9, 9))


def _updates(rows: pa.Table, source: pa.Table) -> pa.Table:
    """Add to one column, and set another one."""
    added = pc.add_checked(rows.column("n"), source.column(0))
    rows = rows.set_column(2, SCHEMA.field("n"), added)
    return rows.set_column(3, SCHEMA.field("x"), source.column(1))


def _merge(folder: Path, source: pa.Table, updates: Any = _updates) -> EditReport | None:
    reference = parse_reference({"path": "m.t", "warehouse": str(folder)})
    done = small_merge(reference, "MERGE", source, updates)
    return None if done is None else done.report


def _source(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Return keys of one or two columns, a number to add, and one to set."""
    key = [pa.int64(), pa.string()] if rows and len(rows[0]) == 4 else [pa.int64()]
    kinds = [*key, pa.int32(), pa.float64()]
    columns = zip(*rows, strict=True) if rows else [[] for _ in kinds]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list("abcd")[: len(kinds)])


@settings(max_examples=12)
@given(data=st.data())
def test_a_merge_leaves_the_rows_that_the_table_itself_leaves(data: st.DataObject) -> None:
    """With keys that nobody has, in one commit or none."""
    layout = data.draw(st.sampled_from(["keyed", "moving", "in key"]))
    ids = data.draw(st.lists(st.integers(0, 7), unique=True, max_size=6))
    rows = [(key, data.draw(NUMBERS), data.draw(NUMBERS)) for key in ids]
    with tempfile.TemporaryDirectory() as folder:
        merged = data.draw(st.booleans())
        table, twin = (make(Path(folder) / name, layout, merged=merged) for name in ("a", "b"))
        before = table.history().num_rows
        report = _merge(Path(folder) / "a", _source(rows))
        source = _source(rows).rename_columns(["id", "m", "y"])
        expected = (
            twin.merge(source, on="id")
            .when_matched_update(set={"n": "target.n + source.m", "x": "source.y"})
            .execute()
        )

        assert report is not None
        assert report.rows_updated == expected.rows_updated
        assert rows_of(table) == rows_of(twin)
        assert table.history().num_rows == before + bool(report.rows_updated)


def test_keys_of_several_columns_are_found_together(tmp_path: Path) -> None:
    """And a null in one of them is that of no row."""
    schema = SCHEMA.set(1, SCHEMA.field("city").with_nullable(False))
    table = arctic.create_table("m.t", schema, primary_key=["id", "city"], warehouse=str(tmp_path))
    stored = [{"id": i, "city": c, "n": i, "x": None} for i in (1, 2) for c in ("Oslo", "Rome")]
    table.write(pa.Table.from_pylist(stored, schema))

    report = _merge(
        tmp_path,
        _source(
            [(1, "Rome", 5, 0.5), (2, "Bern", 6, 0.6), (2, None, 7, 0.7), (None, "Oslo", 8, 0)]
        ),
    )

    assert report is not None
    assert report.rows_updated == 1
    changed = [row for row in rows_of(table) if row["x"] is not None]
    assert changed == [{"id": 1, "city": "Rome", "n": 6, "x": 0.5}]


@pytest.mark.parametrize("count", [1, 300])
def test_keys_that_python_has_no_values_for_are_found(tmp_path: Path, count: int) -> None:
    """Days after the year 9999, beside few other keys or many: nothing is left out by them."""
    schema = pa.schema([pa.field("id", pa.date32(), nullable=False), ("n", pa.int32())])
    table = arctic.create_table("m.t", schema, primary_key="id", warehouse=str(tmp_path))
    days = pa.array([0, 4_000_000, -4_000_000], pa.int32()).cast(pa.date32())
    table.write(pa.table([days, pa.array([1, 2, 3], pa.int32())], schema=schema))
    keys = pa.array([4_000_000, *range(9, 9 + count)], pa.int32()).cast(pa.date32())

    def set_one(rows: pa.Table, source: pa.Table) -> pa.Table:
        return rows.set_column(1, schema.field("n"), source.column(0))

    report = _merge(
        tmp_path, pa.table([keys, pa.repeat(pa.scalar(7, pa.int32()), len(keys))], "kn"), set_one
    )

    assert report is not None
    assert report.rows_updated == 1
    assert sorted(table.read(columns="n").read_all().column("n").to_pylist()) == [1, 3, 7]


def test_texts_that_are_none_are_for_the_engine_to_look_up(tmp_path: Path) -> None:
    """Spark's may hold any bytes: the other keys of the source are found all the same."""
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), ("n", pa.int32())])
    table = arctic.create_table("m.t", schema, primary_key="id", warehouse=str(tmp_path))
    table.write(pa.table([["a"], pa.array([1], pa.int32())], schema=schema))
    keys = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers())

    assert _merge(tmp_path, pa.table([keys, pa.array([5, 6], pa.int32())], "kn")) is None


def test_what_is_not_for_this_process_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key twice, a value that is the engine's to make, too many rows, a table without a key."""
    table = make(tmp_path / "keyed", "keyed")
    make(tmp_path / "bag", "no key")
    files = sorted((tmp_path / "keyed" / "m").rglob("*.*"))

    def refuses(rows: pa.Table, source: pa.Table) -> pa.Table:
        raise small_edit.NotHereError

    assert _merge(tmp_path / "keyed", _source([(9, 1, 1), (9, 2, 2)])) is None
    assert _merge(tmp_path / "keyed", _source([(1, 1, 1)]), refuses) is None
    assert _merge(tmp_path / "bag", _source([(1, 1, 1)])) is None
    monkeypatch.setattr(small_edit, "MOST_ROWS", 2)
    assert _merge(tmp_path / "keyed", _source([(1, 1, 1), (5, 1, 1)])) is None

    assert sorted((tmp_path / "keyed" / "m").rglob("*.*")) == files
    assert rows_of(table) == ROWS


def test_only_files_that_can_hold_a_key_count_and_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a large table costs nothing: its files may be gone."""
    table = arctic.create_table("m.t", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    near = [{"id": key, "n": key} for key in range(100)]
    table.write(pa.Table.from_pylist(near, SCHEMA))
    known = set(tmp_path.rglob("*.parquet"))
    far = [{"id": key, "n": key} for key in range(10_000, 10_500)]
    table.write(pa.Table.from_pylist(far, SCHEMA))
    for path in set(tmp_path.rglob("*.parquet")) - known:
        path.unlink()
    monkeypatch.setattr(small_edit, "MOST_ROWS", 250)

    report = _merge(tmp_path, _source([(3, 10, 1), (99, 20, 2)]))

    assert report is not None
    assert report.rows_updated == 2
    found = table.read(filter="id in (3, 99)", columns=["id", "n"]).read_all().to_pylist()
    assert sorted(found, key=str) == [{"id": 3, "n": 13}, {"id": 99, "n": 119}]


def test_a_key_that_is_stored_twice_is_refused(tmp_path: Path) -> None:
    """As the engine's command refuses it: of two rows one would be lost."""
    table = make(tmp_path, "keyed")
    table.write(pa.Table.from_pylist([{**ROWS[0], "n": 9}], SCHEMA), mode="append")
    before = rows_of(table)

    with pytest.raises(RepeatedKeyError, match=r"'m\.t': several rows have the key"):
        _merge(tmp_path, _source([(1, 1, 1)]))
    assert rows_of(table) == before


@pytest.mark.parametrize("key", [3, 8])
def test_a_row_that_comes_or_changes_meanwhile_is_merged_with(tmp_path: Path, key: int) -> None:
    """Whether it was there or not when the merge began."""
    table = make(tmp_path, "keyed")
    first = iter([True])

    def late(rows: pa.Table, source: pa.Table) -> pa.Table:
        if next(first, False):
            row = {"id": key, "city": "Late", "n": 100, "x": None}
            table.write(pa.Table.from_pylist([row], SCHEMA))
        return _updates(rows, source)

    report = _merge(tmp_path, _source([(1, 1, 1), (3, 1, 1), (8, 1, 1)]), late)

    assert report is not None
    assert report.attempts == 2
    found = {row["id"]: row for row in rows_of(table)}
    assert found[key] == {"id": key, "city": "Late", "n": 101, "x": 1.0}
