"""Look-ups of dead rows, divided and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from arctic.job.vectors.vector_work import VectorWork
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind
from arctic.tree.node import ROOT
from tests.factories.files import name_of, named_file

IGNORED: Any = None


def work_of(*tasks: tuple[int, ...]) -> VectorWork:
    """Return work for files of so many rows."""
    kill = named_file(
        FileKind.CHANGE_DELETE,
        name_of(FileKind.CHANGE_DELETE, transaction_id=2),
        sequence_number=2,
        keys=(0, 9),
    )
    return VectorWork(
        tasks=tuple(
            NodeTask(
                partition=(),
                node=ROOT,
                data=tuple(
                    FileTask(
                        file=named_file(
                            FileKind.BASE,
                            name_of(FileKind.BASE, transaction_id=task, number=number),
                            record_count=each,
                            keys=(0, 9),
                        )
                    )
                    for number, each in enumerate(rows)
                ),
                change_deletes=(kill,),
                cost_bytes=1,
            )
            for task, rows in enumerate(tasks, 1)
        ),
        request=IGNORED,
        io=IGNORED,
    )


def rows_of(work: VectorWork) -> list[list[int]]:
    """Return the rows of the files of each task."""
    return [[part.file.record_count for part in task.data] for task in work.tasks]


@pytest.mark.parametrize(
    ("tasks", "shares"),
    [
        ([(4, 6)], [[[4, 6]]]),
        ([(4, 7)], [[[4]], [[7]]]),
        ([(11, 1)], [[[11]], [[1]]]),
        ([(1, 11)], [[[1]], [[11]]]),
        ([(4,), (6,)], [[[4], [6]]]),
        ([(4, 3), (4, 6, 1)], [[[4, 3]], [[4, 6]], [[1]]]),
        ([(9,), (1, 1)], [[[9], [1]], [[1]]]),
        ([(9,), (2,), (2,)], [[[9]], [[2], [2]]]),
    ],
)
def test_shares_have_all_files_in_their_order(
    tasks: list[tuple[int, ...]], shares: list[list[list[int]]]
) -> None:
    """So that their answers, one after the other, are the answer to all; each with its deletes."""
    work = work_of(*tasks)

    divided = work.shares(10)

    assert [rows_of(share) for share in divided] == shares
    assert [file for share in divided for file in share.files] == work.files
    assert all(task.change_deletes for share in divided for task in share.tasks)


@pytest.mark.parametrize(
    ("tasks", "largest"),
    [
        ([(5, 5)], [[5, 5]]),
        ([(5, 6)], [[6]]),
        ([(5, 1), (4,)], [[5, 1], [4]]),
        ([(1, 5), (5,)], [[5], [5]]),
        ([(11, 1)], [[1]]),
        ([(11,)], []),
    ],
)
def test_the_largest_files_have_so_many_rows_together(
    tasks: list[tuple[int, ...]], largest: list[list[int]]
) -> None:
    """As they were given; those that fit no more are left out."""
    assert rows_of(work_of(*tasks).of_largest(10)) == largest
