"""How much is read by row numbers: each bound exactly, and one beyond it."""

from __future__ import annotations

import pytest

from arctic.scan.reach import FileRanges
from arctic.scan.set_apart.dirty_files import set_dirty_apart
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind
from arctic.tree.node import ROOT
from tests.factories.files import KEY_ID, name_of, named_file


def apart(
    *rows: int, deletes: int = 1, tasks: int = 1, least_rows: int | None = 1
) -> tuple[tuple[NodeTask, ...], tuple[NodeTask, ...], tuple[NodeTask, ...]]:
    """Divide tasks of files with so many rows; return all tasks, those to merge, and the others."""
    kill = name_of(FileKind.CHANGE_DELETE, transaction_id=2)
    delete = named_file(FileKind.CHANGE_DELETE, kill, sequence_number=2, keys=(0, 9))
    data = tuple(
        FileTask(
            file=named_file(
                FileKind.BASE,
                name_of(FileKind.BASE, number=number),
                record_count=each,
                keys=(0, 9),
            )
        )
        for number, each in enumerate(rows)
    )
    given = (
        NodeTask(
            partition=(),
            node=ROOT,
            data=data,
            change_deletes=(delete,) * deletes,
            cost_bytes=1,
        ),
    ) * tasks
    merged, dirty = set_dirty_apart(
        given,
        least_rows=least_rows,
        takes_others=False,
        ranges=FileRanges((KEY_ID,)),
        open_file_cost_bytes=10,
    )
    return given, merged, dirty


def test_any_number_of_rows_is_set_apart() -> None:
    """Tasks fetch the bits that they need, so there may be more than fit beside a plan."""
    _, merged, dirty = apart(2**31, 1, 2**40, tasks=3)

    assert merged == ()
    assert [part.file.record_count for task in dirty for part in task.data] == [2**31, 1, 2**40] * 3


def test_half_a_million_pairs_of_file_and_delete_are_the_most() -> None:
    """A merge never looks at single pairs, so it takes over where there is one more."""
    _, merged, dirty = apart(*[1] * 500, deletes=1_000)
    given, all_merged, none = apart(1, 1, 1, deletes=166_667)

    assert (merged, len(dirty)) == ((), 1)
    assert (all_merged, none) == (given, ())


@pytest.mark.parametrize(("least", "is_apart"), [(29, True), (30, True), (31, False)])
def test_few_rows_are_merged(least: int, is_apart: bool) -> None:
    """Of all files together."""
    given, merged, dirty = apart(10, 20, least_rows=least)

    assert (merged == ()) is is_apart
    assert bool(dirty) is is_apart
    assert is_apart or merged == given


@pytest.mark.parametrize(
    ("rows", "is_apart"),
    [
        ((1,) * 14, True),
        ((1,) * 15, False),
        ((1,) * 14 + (5_000,), True),
        ((7_000,) * 200, True),
        ((6_000,) * 100, True),
        ((6_000,) * 101, False),
    ],
)
def test_many_small_files_are_merged(rows: tuple[int, ...], is_apart: bool) -> None:
    """Each costs its reader as much as 7,000 rows of a merge, and a merge as 100,000 to begin."""
    given, merged, dirty = apart(*rows, least_rows=None)

    assert (merged == ()) is is_apart
    assert bool(dirty) is is_apart
    assert is_apart or merged == given


@pytest.mark.parametrize(
    ("rows", "apart_rows"),
    [
        ((900_000, *(1,) * 150), [900_000]),
        ((9_000, 7_000, 900_000, *(1,) * 150), [9_000, 900_000]),
        ((607_000, *(1,) * 150), []),
        ((607_001, *(1,) * 150), [607_001]),
        ((900_000, *(1,) * 99), [900_000, *(1,) * 99]),
    ],
)
def test_large_files_are_set_apart_from_many_small_ones(
    rows: tuple[int, ...], apart_rows: list[int]
) -> None:
    """What is saved of them must be worth a second reader; without the small ones, all go."""
    given, merged, dirty = apart(*rows, least_rows=None)

    assert [part.file.record_count for task in dirty for part in task.data] == apart_rows
    both = [part for task in (*merged, *dirty) for part in task.data]
    assert sorted(part.file.path for part in both) == sorted(
        part.file.path for task in given for part in task.data
    )
    assert all(task.change_deletes == given[0].change_deletes for task in (*merged, *dirty))
