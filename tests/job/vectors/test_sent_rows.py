"""How many dead rows tasks are sent: a bounded part each, and each file is read once."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from arctic.job.vectors.sent_rows import sent_in_parts
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import ROOT
from tests.factories.files import table_file

MOST = 512 * 2**10
DELETE = table_file("d", FileKind.CHANGE_DELETE)


def group_of(*paths: tuple[str, ...]) -> NodeTaskGroup:
    """Return a group with a task for each of several runs of files."""
    tasks = [
        NodeTask(
            partition=(),
            node=ROOT,
            data=tuple(FileTask(file=table_file(path, FileKind.BASE)) for path in run),
            change_deletes=(DELETE,),
            cost_bytes=1,
        )
        for run in paths
    ]
    return NodeTaskGroup(tasks=tuple(tasks), cost_bytes=len(tasks))


def read(
    parts: list[tuple[NodeTaskGroup, Mapping[str, bytes]]],
) -> list[tuple[str, int, tuple[TableFile, ...]]]:
    """Return each file that is read, how much of dead rows is sent of it, and its deletes."""
    return sorted(
        (part.file.path, len(sent.get(part.file.path, b"")), task.change_deletes)
        for group, sent in parts
        for task in group.tasks
        for part in task.data
    )


def test_what_is_sent_is_divided_where_it_is_too_much_for_one_task() -> None:
    """And files that merge nothing stay together as far as they may."""
    known = {"a": b"x" * (MOST // 2), "b": b"x" * (MOST // 2), "c": b"x"}

    parts = list(sent_in_parts(group_of(("a", "b", "c")), known))

    assert [sorted(sent) for _, sent in parts] == [["a", "b"], ["c"]]
    assert [deletes for _, _, deletes in read(parts)] == [(), (), ()]


def test_a_file_with_too_many_dead_rows_is_merged() -> None:
    """With its deletes, and without the others of its task."""
    known = {"a": b"x" * (MOST + 1), "b": b"x"}

    parts = list(sent_in_parts(group_of(("a", "b")), known))

    assert read(parts) == [("a", 0, (DELETE,)), ("b", 1, ())]


def test_a_task_with_a_file_of_which_nothing_is_known_is_merged() -> None:
    """As it was planned."""
    group = group_of(("a", "b"))

    assert list(sent_in_parts(group, {"a": b"x"})) == [(group, {})]
    assert list(sent_in_parts(group_of(), {})) == [(group_of(), {})]


@given(st.lists(st.lists(st.none() | st.integers(0, MOST + 2), min_size=1, max_size=4), max_size=6))
def test_each_file_is_read_once_and_no_task_is_sent_too_much(
    tasks: list[list[int | None]],
) -> None:
    """Whatever is known, by its size."""
    names = [
        [f"{number}-{place}" for place, _ in enumerate(sizes)] for number, sizes in enumerate(tasks)
    ]
    known = {
        name: b"x" * size
        for run, sizes in zip(names, tasks, strict=True)
        for name, size in zip(run, sizes, strict=True)
        if size is not None
    }

    parts = list(sent_in_parts(group_of(*map(tuple, names)), known))

    assert [path for path, _, _ in read(parts)] == sorted(name for run in names for name in run)
    for group, sent in parts:
        assert sum(map(len, sent.values())) <= MOST
        for task in group.tasks:
            paths = {part.file.path for part in task.data}
            assert bool(task.change_deletes) != (paths <= sent.keys())
