"""Results to commit plans."""

from __future__ import annotations

import pytest

from arctic.errors import InternalError
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.files import FileKind, WrittenFile
from arctic.tree.node import ROOT
from arctic.writing.plan_commit import plan_append, plan_overwrite
from arctic.writing.target import TaskId, TaskResult


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


def test_an_append_adds_every_file_in_the_order_of_the_input() -> None:
    """Whatever order the tasks finished in."""
    plan = plan_append([result(2, "d", "c"), result(0, "b"), result(1)], summary={"k": "v"})

    assert plan == AppendFiles(files=(file("b"), file("d"), file("c")), summary={"k": "v"})
    assert plan_append([], summary={}) == AppendFiles(files=())


def test_an_overwrite_carries_what_it_replaces() -> None:
    """The change sequence number and its partitions are fixed before the input is read."""
    plan = plan_overwrite(
        [result(1, "a"), result(0, "b")],
        dynamic=True,
        must_be_newest_change=False,
        planned_at=5,
        change_sequence_number=7,
        change_partitions=frozenset({("eu",)}),
        summary={},
    )

    assert plan == OverwriteBase(
        files=(file("b"), file("a")),
        dynamic=True,
        must_be_newest_change=False,
        planned_at=5,
        change_sequence_number=7,
        change_partitions=frozenset({("eu",)}),
    )


def test_two_results_of_one_input_partition_are_refused() -> None:
    """Their offsets overlap, and their rows are the same rows."""
    with pytest.raises(InternalError, match="two results for input partition 3: tasks 6 and 6"):
        plan_append([result(3, "a"), result(1), result(3, "b")], summary={})
