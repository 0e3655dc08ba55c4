"""Dividing files by ranges of a column: every value in one part, and no part of a few rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.divide import RangePart, divide_by_range
from arctic.scan.task import FileTask
from arctic.table.files import ColumnBounds, FileKind
from arctic.table.table_description import Column
from tests.factories.files import name_of, named_file
from tests.optimizing.lake import matches

COLUMN = Column(field_id=7, name="status", type="int", required=False)
_numbers = itertools.count(1)


def file(
    low: Any, high: Any, size: int = 100, *, nulls: int | None = 0, kind: FileKind = FileKind.BASE
) -> FileTask:
    """Return a file with values of the column between two."""
    name = name_of(kind, node_id=1, number=next(_numbers))
    bounds = ColumnBounds(lower=low, upper=high, null_count=nulls)
    made = named_file(kind, name, size_bytes=size)
    return FileTask(file=replace(made, bounds={COLUMN.field_id: bounds}), position_deletes=())


def divide(*files: FileTask, max_bytes: int = 200) -> tuple[RangePart, ...]:
    """Divide by the column."""
    return divide_by_range(files, column=COLUMN, max_bytes=max_bytes)


def texts(parts: tuple[RangePart, ...]) -> list[str]:
    """Return ranges, files and bytes."""
    return [f"{part.row_range}: {len(part.files)} files, {part.bytes}" for part in parts]


def test_files_that_follow_one_another_are_cut_between_them() -> None:
    """Also where a value fills the end of one and the beginning of the next."""
    assert texts(divide(*(file(n, n + 10) for n in range(0, 60, 10)))) == [
        "status < 20: 2 files, 200",
        "status >= 20 and status < 40: 3 files, 200",
        "status >= 40: 3 files, 200",
    ]


@pytest.mark.parametrize("spread", [0, 1, 3])
def test_files_that_overlap_all_over_stay_together(spread: int) -> None:
    """What lies between the beginnings of two is anybody's guess: it may be two rows."""
    assert len(divide(*(file(n * spread, 1_000 - n) for n in range(20)))) == 1


def test_a_rest_that_is_small_goes_with_its_neighbour() -> None:
    """A last file of a few bytes is no part."""
    assert len(divide(file(0, 9), file(10, 19), file(20, 29, 1))) == 1


def test_nulls_are_in_the_last_part() -> None:
    """With every file that may have some."""
    first, second, third = file(0, 9, 200), file(10, 19, 200, nulls=1), file(20, 29, 200)

    parts = divide(first, second, third)

    assert str(parts[-1].row_range) == "status >= 20 or status is null"
    assert [part.files for part in parts] == [(first,), (second,), (second, third)]
    assert [part.bytes for part in parts] == [200, 200, 200]


def test_a_file_that_tells_nothing_is_in_every_part() -> None:
    """It may hold rows of each."""
    silent = file(None, None, 10, nulls=None)

    parts = divide(silent, file(0, 9, 200), file(10, 19, 200))

    assert [silent in part.files for part in parts] == [True, True]


def test_floats_are_not_divided() -> None:
    """Their bounds say nothing of NaN, which is in no range."""
    assert len(divide(*(file(float(n), n + 0.5) for n in range(20)))) == 1


def test_texts_with_bounds_that_were_cut_are_divided() -> None:
    """A lower bound is a cut whether or not some row has it; an upper one may be unknown."""
    endless, middle, last = file("a", None), file("ac", "b", 200), file("ba", "c", 200)

    parts = divide(endless, middle, last)

    assert [part.files for part in parts] == [(endless, middle), (endless, last)]


VALUES = st.none() | st.integers(0, 12)
ROWS = st.lists(
    st.tuples(st.lists(VALUES, min_size=1, max_size=6), st.integers(1, 300)), min_size=1
)


@given(ROWS, st.sampled_from([1, 100, 300]), st.booleans())
def test_every_row_is_in_one_part_that_reads_its_file(
    content: list[tuple[list[int | None], int]], max_bytes: int, with_inserts: bool
) -> None:
    """Whatever overlaps, is equal or null; and bytes are dealt out, not made."""
    rows: dict[str, list[int | None]] = {}
    files = []
    for number, (values, size) in enumerate(content):
        known = [value for value in values if value is not None]
        kind = FileKind.INSERT if with_inserts and number % 2 else FileKind.BASE
        each = file(
            min(known, default=None),
            max(known, default=None),
            size,
            nulls=len(values) - len(known),
            kind=kind,
        )
        files.append(each)
        rows[each.file.path] = values

    parts = divide(*files, max_bytes=max_bytes)

    total = sum(size for _, size in content)
    assert total - len(files) * len(parts) <= sum(part.bytes for part in parts) <= total
    for each in files:
        for value in rows[each.file.path]:
            (part,) = (part for part in parts if matches(part.row_range, value))
            assert each in part.files
