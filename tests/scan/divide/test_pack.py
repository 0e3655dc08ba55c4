from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from arctic.scan.divide.pack import pack_tasks
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup, ScanOptions, packing_weight_bytes
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import TreeNode
from tests.factories.files import name_of, named_file
from tests.scan.lake import scan_options


def task(
    number: int,
    size_bytes: int,
    *,
    partition: str = "eu",
    node_id: int | None = None,
    deletes: tuple[TableFile, ...] = (),
) -> NodeTask:
    """Return a task of one file; each number is a node of its own unless one is given."""
    node_id = node_id or number + 1
    name = name_of(FileKind.BASE, node_id=node_id, number=number)
    data = named_file(FileKind.BASE, name, size_bytes=size_bytes, partition=(partition,))
    return NodeTask(
        partition=(partition,),
        node=TreeNode.from_id(node_id),
        data=(FileTask(file=data),),
        change_deletes=deletes,
        cost_bytes=packing_weight_bytes((data, *deletes), open_file_cost_bytes=1),
    )


def delete(number: int, size_bytes: int) -> TableFile:
    """Return a change delete of the root."""
    name = name_of(FileKind.CHANGE_DELETE, number=number)
    return named_file(FileKind.CHANGE_DELETE, name, size_bytes=size_bytes, partition=("eu",))


def bins(count: int) -> ScanOptions:
    """Return options for so many groups."""
    return scan_options(parallelism=count, parallel_multiple=1, open_file_cost_bytes=1)


def sizes(groups: tuple[NodeTaskGroup, ...]) -> list[list[int]]:
    """Return the sizes of the data files of each group."""
    return [[p.file.size_bytes for t in group.tasks for p in t.data] for group in groups]


def test_the_heaviest_task_comes_first_and_the_next_go_to_the_lightest() -> None:
    """Tasks of different partitions have nothing in common."""
    tasks = [task(n, size, partition=f"p{n}") for n, size in enumerate([2, 3, 4, 5, 6])]

    assert sizes(pack_tasks(tasks, options=bins(2))) == [[2, 3, 6], [4, 5]]


def test_there_are_never_more_groups_than_tasks() -> None:
    """An empty group would be an empty Spark task."""
    assert sizes(pack_tasks([task(0, 5), task(1, 4)], options=bins(9))) == [[5], [4]]
    assert pack_tasks([], options=bins(9)) == ()


def test_tasks_of_one_partition_stay_together_where_balance_allows() -> None:
    """The lightest group would be another one each time."""
    tasks = [task(n, 10, partition="ab"[n % 2]) for n in range(8)]
    groups = pack_tasks(tasks, options=bins(2))

    assert [{("a",)}, {("b",)}] == [{t.partition for t in group.tasks} for group in groups]


def test_deletes_that_a_group_shares_are_counted_once() -> None:
    """10 and 10 of data and 30 of deletes that both read."""
    shared = (delete(1, 30),)
    tasks = [task(n, 10, deletes=shared) for n in range(2)]
    (group,) = pack_tasks(tasks, options=bins(1))

    assert group.cost_bytes == 50
    assert [t.cost_bytes for t in group.tasks] == [40, 40]


def test_shared_deletes_do_not_draw_all_tasks_into_one_group() -> None:
    """Eight parts of 100 with 250 of deletes on four groups: two parts each."""
    shared = (delete(1, 250),)
    tasks = [task(n, 100, node_id=4, deletes=shared) for n in range(8)]
    groups = pack_tasks(tasks, options=bins(4))

    assert [group.cost_bytes for group in groups] == [450] * 4


def test_nodes_with_many_deletes_do_not_meet_in_every_group() -> None:
    """Four nodes of twenty parts: five groups each, and no group reads deletes of two nodes."""
    tasks = [
        task(20 * node_id + n, 10, node_id=node_id, deletes=(delete(node_id, 40),))
        for node_id in (4, 5, 6, 7)
        for n in range(20)
    ]
    groups = pack_tasks(tasks, options=bins(20))

    assert [group.cost_bytes for group in groups] == [80] * 20
    assert all(len(group.tasks) == 1 for group in groups)


def test_parts_of_a_node_that_meet_again_are_one_task() -> None:
    """They would read what they share one after the other; parts of the rest are renumbered."""
    shared, other = delete(1, 3), delete(2, 2)
    tasks = [task(n, 10, node_id=4, deletes=(shared,) if n else (shared, other)) for n in range(4)]
    groups = pack_tasks(tasks, options=bins(2))

    assert [[len(group.tasks)] for group in groups] == [[1], [1]]
    assert [(g.tasks[0].part_number, g.tasks[0].part_count) for g in groups] == [(1, 2), (2, 2)]
    assert [{shared.path, other.path}, {shared.path}] == [
        {d.path for d in group.tasks[0].change_deletes} for group in groups
    ]
    assert [group.cost_bytes for group in groups] == [25, 23]
    assert [group.tasks[0].cost_bytes for group in groups] == [25, 23]


@st.composite
def task_lists(draw: st.DrawFn) -> list[NodeTask]:
    """Draw tasks that share partitions, nodes and deletes."""
    deletes = [delete(n, draw(st.integers(1, 50))) for n in range(3)]
    return [
        task(
            number,
            draw(st.integers(1, 100)),
            partition=draw(st.sampled_from("ab")),
            node_id=draw(st.integers(1, 3)),
            deletes=tuple(d for d in deletes if draw(st.booleans())),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@given(task_lists(), st.integers(1, 6))
def test_no_group_is_heavier_than_its_share_and_one_task(tasks: list[NodeTask], count: int) -> None:
    """Staying near one's own must not ruin the balance: shared deletes count for each task."""
    groups = pack_tasks(tasks, options=bins(count))
    costs = [task.cost_bytes for task in tasks]
    share = math.ceil(sum(costs) / max(1, min(count, len(tasks))))

    assert all(group.cost_bytes <= share + max(costs) for group in groups)


@given(task_lists(), st.integers(1, 6))
def test_a_group_costs_what_it_reads(tasks: list[NodeTask], count: int) -> None:
    """Each data file once, each delete file of the group once; no data file is lost."""
    groups = pack_tasks(tasks, options=bins(count))

    for group in groups:
        data = [part.file for t in group.tasks for part in t.data]
        deletes = {d.path: d for t in group.tasks for d in t.change_deletes}
        weight = packing_weight_bytes((*data, *deletes.values()), open_file_cost_bytes=1)
        assert weight == group.cost_bytes
    assert sorted(t.data[0].file.path for t in tasks) == sorted(
        part.file.path for group in groups for t in group.tasks for part in t.data
    )
