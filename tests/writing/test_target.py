"""The results of all tasks, as they are committed."""

from __future__ import annotations

import pytest

from arctic.errors import InternalError
from arctic.table.files import FileKind, WrittenFile
from arctic.tree.node import ROOT
from arctic.writing.target import TaskId, TaskResult, files_of


def file(path: str) -> WrittenFile:
    """Return a file that differs by its path."""
    return WrittenFile(
        path=path,
        kind=FileKind.BASE,
        node=ROOT,
        partition=("eu",),
        size_bytes=1,
        record_count=1,
        footer=b"",
    )


def result(number: int, *paths: str) -> TaskResult:
    """Return the result of an input partition."""
    return TaskResult(
        task=TaskId(partition_id=number, task_id=9 - number, operation_id=0),
        files=tuple(file(path) for path in paths),
        rows_in=1,
        inserts=1,
        deletes=0,
    )


def test_files_come_in_the_order_of_the_input() -> None:
    """Whatever order the tasks finished in."""
    found = files_of([result(2, "d", "c"), result(0, "b"), result(1)])

    assert found == (file("b"), file("d"), file("c"))
    assert files_of([]) == ()


def test_two_results_of_one_input_partition_are_refused() -> None:
    """Their offsets overlap, and their rows are the same rows."""
    with pytest.raises(InternalError, match="two results for input partition 3: tasks 6 and 6"):
        files_of([result(3, "a"), result(1), result(3, "b")])
