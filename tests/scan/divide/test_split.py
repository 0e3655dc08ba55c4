from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.scan.divide.split import (
    average_cost_bytes,
    balanced_runs,
    split_task,
    split_tasks,
)
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask, NodeTask, packing_weight_bytes, ratio_weight_bytes
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import ROOT
from tests.factories.files import KEY_ID, name_of, named_file
from tests.scan.lake import scan_options

OPEN = 10


def base(number: int, size_bytes: int, *, keys: tuple[int, int] | None = None) -> TableFile:
    """Return a base file of transaction 1."""
    name = name_of(FileKind.BASE, transaction_id=1, number=number)
    return named_file(FileKind.BASE, name, size_bytes=size_bytes, keys=keys)


def delete(
    number: int, size_bytes: int, *, keys: tuple[int, int] | None = None, transaction_id: int = 2
) -> TableFile:
    """Return a change delete."""
    name = name_of(FileKind.CHANGE_DELETE, transaction_id=transaction_id, number=number)
    return named_file(FileKind.CHANGE_DELETE, name, size_bytes=size_bytes, keys=keys)


def node(data: list[TableFile], deletes: tuple[TableFile, ...] = ()) -> NodeTask:
    """Return a whole node."""
    return NodeTask(
        partition=(),
        node=ROOT,
        data=tuple(FileTask(file=file) for file in data),
        change_deletes=deletes,
        cost_bytes=packing_weight_bytes([*data, *deletes], open_file_cost_bytes=OPEN),
    )


def split(
    task: NodeTask, *, cost_avg_bytes: int = 100, weight_ratio: float = 2.0
) -> tuple[NodeTask, ...]:
    """Split a node by the key column."""
    return split_task(
        task,
        cost_avg_bytes=cost_avg_bytes,
        weight_ratio=weight_ratio,
        open_file_cost_bytes=OPEN,
        ranges=FileRanges((KEY_ID,)),
    )


def sizes(parts: tuple[NodeTask, ...]) -> list[list[int]]:
    """Return the sizes of the data files of each part."""
    return [[part.file.size_bytes for part in task.data] for task in parts]


def test_a_heavy_node_is_cut_by_the_ratio_of_its_cost_to_the_average() -> None:
    """Cost 350 at an average of 100 makes 4 parts."""
    parts = split(node([base(n, 50) for n in range(7)]))

    assert sizes(parts) == [[50, 50], [50, 50], [50, 50], [50]]
    assert [(part.part_number, part.part_count) for part in parts] == [
        (1, 4),
        (2, 4),
        (3, 4),
        (4, 4),
    ]
    assert [part.cost_bytes for part in parts] == [100, 100, 100, 50]


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (node([base(1, 50), base(2, 50)]), "its cost is the average"),
        (node([base(1, 5000)]), "a file is never cut"),
        (node([base(1, 90), base(2, 90)], (delete(1, 90),)), "data is 2.0 times its deletes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_node_stays_whole(task: NodeTask, why: str) -> None:
    """At each limit, which is inclusive."""
    assert split(task) == (task,), why


def test_data_just_heavy_enough_for_its_deletes_is_split() -> None:
    """(91 + 90 + 2 open costs) / (90 + 1 open cost) is above 2.0."""
    parts = split(node([base(1, 91), base(2, 90)], (delete(1, 90),)))

    assert sizes(parts) == [[91], [90]]
    assert [[d.size_bytes for d in part.change_deletes] for part in parts] == [[90], [90]]


def test_there_are_never_more_parts_than_files() -> None:
    """Each part has rows."""
    assert sizes(split(node([base(1, 500), base(2, 500)]))) == [[500], [500]]


def test_parts_are_runs_of_keys_that_share_few_deletes() -> None:
    """A delete of new keys burdens the part with new keys only; an old one burdens none."""
    data = [base(n, 100, keys=(n * 10, n * 10 + 9)) for n in (3, 1, 2, 0)]
    new, everywhere = delete(1, 1, keys=(35, 38)), delete(2, 1, keys=(0, 99))
    old = delete(3, 1, keys=(0, 99), transaction_id=1)

    parts = split(node(data, (new, everywhere, old)), cost_avg_bytes=250)

    assert [[part.file.bounds[KEY_ID].lower for part in task.data] for task in parts] == [
        [0, 10],
        [20, 30],
    ]
    assert [(everywhere,), (new, everywhere)] == [task.change_deletes for task in parts]


def test_a_delete_is_judged_file_by_file() -> None:
    """A part can hold keys around those of a delete, yet none of them."""
    first, last = base(1, 100, keys=(0, 9)), base(2, 100, keys=(90, 99))
    insert = named_file(
        FileKind.INSERT,
        name_of(FileKind.INSERT, transaction_id=9),
        size_bytes=100,
        keys=(40, 60),
    )
    far = base(4, 300, keys=(100, 110))
    between, too_old = delete(1, 1, keys=(20, 30)), delete(2, 1, keys=(50, 50))

    (near, _) = split(node([first, insert, last, far], (between, too_old)), cost_avg_bytes=310)

    assert [first, insert, last] == [part.file for part in near.data]
    assert near.change_deletes == ()


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.data())
def test_runs_hold_each_item_once(costs: list[int], data: st.DataObject) -> None:
    """In order, none of them empty, and as many as asked for."""
    count = data.draw(st.integers(1, len(costs)))
    runs = balanced_runs(costs, count)

    assert count == len(runs)
    assert all(start < stop for start, stop in runs)
    assert costs == [cost for start, stop in runs for cost in costs[start:stop]]


@given(st.integers(1, 50), st.integers(1, 1000), st.data())
def test_equal_items_are_cut_equally(items: int, cost: int, data: st.DataObject) -> None:
    """Two runs differ by one item at most."""
    count = data.draw(st.integers(1, items))
    lengths = [stop - start for start, stop in balanced_runs([cost] * items, count)]

    assert max(lengths) - min(lengths) <= 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.data())
def test_no_run_is_much_heavier_than_the_average(costs: list[int], data: st.DataObject) -> None:
    """By less than two items, although a run is only as exact as its items are small."""
    count = data.draw(st.integers(1, len(costs)))
    heaviest = max(sum(costs[start:stop]) for start, stop in balanced_runs(costs, count))

    assert heaviest <= sum(costs) / count + 2 * max(costs)


def test_the_average_is_that_of_the_groups_but_at_most_the_target() -> None:
    """Rounded up, so that tasks that fill the groups evenly are not split."""
    tasks = [node([base(n, 100)]) for n in range(5)]

    assert average_cost_bytes(tasks, scan_options(target_bytes=1000)) == 125
    assert average_cost_bytes(tasks, scan_options(parallelism=1, parallel_multiple=3)) == 167
    assert average_cost_bytes(tasks, scan_options(target_bytes=60)) == 60


def test_weights_answer_two_questions() -> None:
    """What reading costs: the larger of size and open-file cost; for the ratio: both."""
    files = [base(1, 3), base(2, 50)]

    assert packing_weight_bytes(files, open_file_cost_bytes=10) == 10 + 50
    assert ratio_weight_bytes(files, open_file_cost_bytes=10) == 13 + 60


def test_parts_know_their_files_only() -> None:
    """What a part costs is what it reads."""
    parts = split(node([base(n, 60) for n in range(4)], (delete(1, 30),)))

    for part in parts:
        files = [*(file_task.file for file_task in part.data), *part.change_deletes]
        assert packing_weight_bytes(files, open_file_cost_bytes=OPEN) == part.cost_bytes


def test_a_node_that_is_hardly_heavier_than_others_stays_whole() -> None:
    """As of nodes of one tree half are; one that is clearly heavier is divided."""
    options, ranges = scan_options(parallelism=2, parallel_multiple=2), FileRanges((KEY_ID,))
    alike = [node([base(1, size), base(2, 100)]) for size in (101, 99, 103, 97)]
    skewed = [node([base(1, size), base(2, 100)]) for size in (150, 50, 50, 50)]

    assert split_tasks(alike, options=options, ranges=ranges) == tuple(alike)
    assert len(split_tasks(skewed, options=options, ranges=ranges)) == 5


def test_a_node_above_the_target_size_is_divided_however_alike_they_are() -> None:
    """The target bounds what a task costs."""
    options, ranges = scan_options(target_bytes=199), FileRanges((KEY_ID,))
    alike = [node([base(1, 100), base(2, 100)]) for _ in range(40)]

    assert len(split_tasks(alike, options=options, ranges=ranges)) == 80


def test_a_node_alone_is_divided_among_all_groups() -> None:
    """What is left whole of nodes that are alike is no reason to leave cores idle."""
    options, ranges = scan_options(parallelism=8, target_bytes=10_000), FileRanges((KEY_ID,))
    alone = node([base(number, 100) for number in range(64)])

    assert len(split_tasks([alone], options=options, ranges=ranges)) == options.max_groups == 16
