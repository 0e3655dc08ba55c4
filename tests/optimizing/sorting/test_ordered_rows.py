"""Rows in order against plain Python lists: comparing, merging runs, spilling to disk."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.row_order import RowKey, greatest_row, least_row, not_after, sort_rows
from arctic.errors import StorageError
from arctic.optimizing.sorting.sort_buffer import SortBuffer
from arctic.writing.rows.runs import Run, merge_runs

UTC = timezone.utc
VALUES: dict[pa.DataType, Sequence[Any]] = {
    pa.int64(): [-3, 0, 1, 2**40],
    pa.string(): ["", "a", "b", "é", "\U0001f600", "zz"],
    pa.binary(): [b"", b"\x00", b"a", b"\xff"],
    pa.binary(2): [b"aa", b"ab", b"\xff\x00"],
    pa.bool_(): [False, True],
    pa.decimal128(10, 2): [Decimal("-1.50"), Decimal("0.00"), Decimal("9.25")],
    pa.date32(): [date(1, 1, 1), date(2026, 1, 31), date(9999, 12, 31)],
    pa.timestamp("us"): [-1, 0, 10**15],
    pa.timestamp("us", "UTC"): [datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)],
    pa.float64(): [-math.inf, -0.5, 0.0, math.inf, math.nan],
    pa.float32(): [-1.0, 0.0, 2.0, math.nan],
}
Row = tuple[Any, ...]


def rank(value: Any) -> tuple[Any, ...]:
    """Return a value as it is ordered: numbers, then NaN, then null; texts by their bytes."""
    if value is None:
        return (2,)
    if isinstance(value, float) and math.isnan(value):
        return (1,)
    return (0, value.encode() if isinstance(value, str) else value)


def ranks(row: Row) -> tuple[tuple[Any, ...], ...]:
    """Return the order of a row."""
    return tuple(map(rank, row))


def rows_of(table: pa.Table) -> list[Row]:
    """Return a table as rows, with NaN as a text so that it equals itself."""
    columns = [
        ["NaN" if isinstance(v, float) and math.isnan(v) else v for v in column.to_pylist()]
        for column in table.columns
    ]
    return list(zip(*columns, strict=True))


@st.composite
def tables(draw: st.DrawFn, *, min_rows: int = 0) -> pa.Table:
    """Draw a table of one to three columns of any types, with few values, so that rows tie."""
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    count = draw(st.integers(min_rows, 30))
    columns = [
        pa.chunked_array(
            [
                pa.array(
                    draw(
                        st.lists(
                            st.sampled_from([None, *VALUES[kind]]),
                            min_size=count,
                            max_size=count,
                        )
                    ),
                    kind,
                )
            ]
        )
        for kind in types
    ]
    return pa.table(columns, names=[f"c{number}" for number in range(len(columns))])


@given(tables(min_rows=1), st.integers(0, 100))
def test_rows_are_compared_as_plain_python_does(table: pa.Table, pick: int) -> None:
    """Least, greatest, and which rows come no later than one of them."""
    names = table.column_names
    plain = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    limit = pick % len(plain)
    key = RowKey(tuple(column[limit] for column in table.columns))
    keys = [RowKey(tuple(column[row] for column in table.columns)) for row in range(len(plain))]

    assert not_after(table, names, key).tolist() == [
        ranks(row) <= ranks(plain[limit]) for row in plain
    ]
    assert [key < other for other in keys] == [ranks(plain[limit]) < ranks(r) for r in plain]
    assert [key <= other for other in keys] == [ranks(plain[limit]) <= ranks(r) for r in plain]
    assert _plain(least_row(table, names)) == min(map(ranks, plain))
    assert _plain(greatest_row(table, names)) == max(map(ranks, plain))
    in_order = sort_rows(table, names)
    back = list(zip(*(column.to_pylist() for column in in_order.columns), strict=True))
    assert list(map(ranks, back)) == sorted(map(ranks, plain))


def _plain(key: RowKey) -> tuple[tuple[Any, ...], ...]:
    return ranks(tuple(value.as_py() for value in key.values))


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.date32()])
def test_times_beyond_python_s_years_are_ordered(kind: pa.DataType) -> None:
    """Spark writes the year 12345, and a column to sort by may hold it."""
    far = 10**18 if pa.types.is_timestamp(kind) else 4_000_000
    table = pa.table({"at": pa.array([far, 0, -far // 8], kind)})

    assert least_row(table, ["at"]) < greatest_row(table, ["at"])
    assert not_after(table, ["at"], greatest_row(table, ["at"])).all()


@st.composite
def chunked_runs(draw: st.DrawFn) -> tuple[pa.Table, list[list[pa.Table]], list[bool]]:
    """Draw rows and deal them to runs: chunks in order, sorted inside or shuffled."""
    table = draw(tables())
    names = table.column_names
    owners = draw(st.lists(st.integers(0, 3), min_size=table.num_rows, max_size=table.num_rows))
    runs, sorted_flags = [], []
    for owner in range(4):
        mask = pa.array([each == owner for each in owners], pa.bool_())
        rows = sort_rows(table.filter(mask), names)
        is_sorted = draw(st.booleans())
        size = draw(st.integers(1, 8))
        chunks = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
        if not is_sorted:
            chunks = [chunk.take(list(reversed(range(chunk.num_rows)))) for chunk in chunks]
        empty = [rows.slice(0, 0)] if draw(st.booleans()) else []
        runs.append([*empty, *chunks])
        sorted_flags.append(is_sorted)
    return table, runs, sorted_flags


@given(chunked_runs())
def test_runs_leave_in_ranges_that_ascend(
    drawn: tuple[pa.Table, list[list[pa.Table]], list[bool]],
) -> None:
    """No row of a range comes before one of an earlier range, and every row leaves once."""
    table, chunks, flags = drawn
    names = table.column_names
    runs = [
        Run(iter(each), names, is_sorted=flag) for each, flag in zip(chunks, flags, strict=True)
    ]
    ranges = [rows for rows in merge_runs(runs) if rows.num_rows]
    left = [row for rows in ranges for row in rows_of(rows)]

    assert sorted(map(str, left)) == sorted(map(str, rows_of(table)))
    for before, later in itertools.pairwise(ranges):
        assert greatest_row(before, names) <= least_row(later, names)


def test_a_run_holds_one_chunk_and_knows_the_next() -> None:
    """However many there are: they are pulled as rows leave."""
    pulled = []

    def chunks() -> Iterator[pa.Table]:
        for number in range(10):
            pulled.append(number)
            yield pa.table({"id": [number]})

    ranges = merge_runs([Run(chunks(), ["id"], is_sorted=True)])
    for expected in range(3):
        assert next(ranges)["id"].to_pylist() == [expected]

    assert len(pulled) <= 5


@given(tables(min_rows=1), st.integers(1, 7))
def test_a_buffer_of_one_byte_spills_and_sorts_all_the_same(table: pa.Table, size: int) -> None:
    """Each batch becomes a run on disk; together they give every row, in order."""
    names = table.column_names
    with SortBuffer(names, buffer_bytes=1) as buffer:
        for batch in table.to_batches(max_chunksize=size):
            buffer.add(pa.Table.from_batches([batch]))
        spilled = buffer._spilled
        folder = None if spilled is None else spilled._folder
        ranges = [sort_rows(rows, names) for rows in merge_runs(buffer.runs())]
        assert (folder is not None) == (table.num_rows > size)
    out = pa.concat_tables(ranges)

    plain = list(zip(*(column.to_pylist() for column in out.columns), strict=True))
    assert list(map(ranks, plain)) == sorted(map(ranks, plain))
    assert sorted(map(str, rows_of(out))) == sorted(map(str, rows_of(table)))
    assert folder is None or not Path(folder.name).exists()


def test_what_fits_touches_no_disk() -> None:
    """The usual case: a few changes."""
    with SortBuffer(["id"], buffer_bytes=2**20) as buffer:
        buffer.add(pa.table({"id": [2, 1]}))
        buffer.add(pa.table({"id": pa.array([], pa.int64())}))

        assert buffer._spilled is None
        (rows,) = merge_runs(buffer.runs())
    assert rows["id"].to_pylist() == [1, 2]


def _spilling(folder: Path) -> None:
    with SortBuffer(["id"], buffer_bytes=1) as buffer:
        buffer.add(pa.table({"id": [2, 1]}))
        buffer.add(pa.table({"id": [4, 3]}))
        assert list(folder.rglob("*.arrow"))
        raise ZeroDivisionError


def test_spilled_files_are_gone_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever went wrong while rows were taken or merged."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        _spilling(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do about it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StorageError, match="TMPDIR"):
        _spilling(tmp_path)


def test_runs_on_disk_come_back_in_small_chunks() -> None:
    """However wide the rows: a small part of what was spilled is in memory at a time."""
    with SortBuffer(["id"], buffer_bytes=1) as buffer:
        for start in range(0, 3 * 1_280, 1_280):
            buffer.add(pa.table({"id": list(range(start + 1_280, start, -1))}))
        ranges = list(merge_runs(buffer.runs()))

    assert max(rows.num_rows for rows in ranges[:-1]) <= 2 * 20
    assert [i for rows in ranges for i in rows["id"].to_pylist()] == list(range(1, 3_841))
