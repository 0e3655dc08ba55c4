"""Which files of a range of commits are read together, and in what order."""

from __future__ import annotations

import random

from arctic.scan.changes.change_tasks import ChangeGroup, ChangeTask, plan_changes
from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.task import FileTask, ScanOptions
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.merge_engine import MergeEngine
from tests.factories.files import KEY_ID, name_of, named_file

OPTIONS = ScanOptions(
    weight_ratio=2.0,
    parallel_multiple=2,
    parallelism=4,
    target_bytes=1000,
    open_file_cost_bytes=1,
    vector_min_rows=1,
)


def change(
    kind: FileKind, node_id: int, sequence_number: int, partition: Partition = ()
) -> TableFile:
    """Return a change file."""
    return named_file(
        kind,
        name_of(kind, node_id=node_id, number=sequence_number),
        sequence_number=sequence_number,
        partition=partition,
    )


def insert(node_id: int, sequence_number: int, partition: Partition = ()) -> TableFile:
    """Return an insert file."""
    return change(FileKind.INSERT, node_id, sequence_number, partition)


def delete(node_id: int, sequence_number: int, partition: Partition = ()) -> TableFile:
    """Return a change-delete file."""
    return change(FileKind.CHANGE_DELETE, node_id, sequence_number, partition)


def base(node_id: int, number: int = 1, partition: Partition = ()) -> FileTask:
    """Return a base file."""
    name = name_of(FileKind.BASE, node_id=node_id, number=number)
    return FileTask(file=named_file(FileKind.BASE, name, partition=partition))


def plan(
    *files: TableFile, first: tuple[FileTask, ...] = (), keys_move: bool = False
) -> tuple[ChangeGroup, ...]:
    """Plan with the options of this module."""
    return plan_changes(
        FilesToRead(data=first, change_deletes=()),
        files,
        ordering_ids=(),
        engine=MergeEngine.LAST_ROW,
        key_ids=(KEY_ID,),
        keys_move=keys_move,
        options=OPTIONS,
    )


def tasks(groups: tuple[ChangeGroup, ...]) -> list[ChangeTask]:
    """Return all tasks."""
    return [task for group in groups for task in group.tasks]


def sequences(task: ChangeTask) -> list[int]:
    """Return the commits of a task in the order they are read."""
    return [(*unit.deletes, *unit.inserts)[0].sequence_number for unit in task.units]


def test_nothing_makes_no_task() -> None:
    """An empty range has no input partition."""
    assert plan() == ()


def test_nodes_that_share_no_key_are_read_apart() -> None:
    """The four nodes of one depth go to four tasks."""
    assert [len(task.units) for task in tasks(plan(*(insert(id, 1) for id in range(4, 8))))] == [
        1
    ] * 4


def test_commits_of_one_node_follow_each_other() -> None:
    """One task, one unit for each commit, oldest first; deletes and inserts side by side."""
    (task,) = tasks(plan(insert(4, 9), delete(4, 2), insert(4, 2), delete(4, 5)))

    assert sequences(task) == [2, 5, 9]
    assert [(len(u.deletes), len(u.inserts)) for u in task.units] == [(1, 1), (1, 0), (0, 1)]


def test_overlapping_nodes_are_read_together() -> None:
    """A node of another depth joins all that it overlaps, through their common ancestor."""
    together, apart = tasks(plan(insert(4, 1), insert(6, 2), insert(2, 3), insert(5, 1)))

    assert sequences(together) == [1, 2, 3]
    assert sequences(apart) == [1]


def test_partitions_are_read_apart_unless_keys_move() -> None:
    """A key that changes its partition leaves a delete in one and an insert in the other."""
    files = delete(4, 1, ("eu",)), insert(4, 1, ("us",))

    assert len(tasks(plan(*files))) == 2
    assert len(tasks(plan(*files, keys_move=True))) == 1


def test_the_beginning_comes_before_the_changes_of_its_keys() -> None:
    """Base files are divided freely where no change follows."""
    first = base(4), base(4, 2), base(5)
    followed, alone = sorted(
        tasks(plan(insert(8, 3), first=first)), key=lambda task: not task.units
    )

    assert sum(len(node.data) for node in followed.beginning) == 2
    assert sequences(followed) == [3]
    assert sum(len(node.data) for node in alone.beginning) == 1


def test_transactions_of_one_commit_stand_in_their_order() -> None:
    """A writer that names its transaction is older than what the commit's number says."""
    named = named_file(
        FileKind.INSERT,
        name_of(FileKind.INSERT, node_id=4, transaction_id=3),
        sequence_number=7,
    )
    (task,) = tasks(plan(insert(4, 7), named))

    assert [unit.inserts[0].transaction_id for unit in task.units] == [3, 7]


def test_the_same_files_make_the_same_plan() -> None:
    """The order in which files arrive plays no part; each is read exactly once."""
    draw = random.Random(3)
    files = [
        make(node_id, number, (region,))
        for make in (insert, delete)
        for node_id in (2, 4, 5, 7, 9)
        for number in (1, 2, 3)
        for region in ("eu", "us", None)
    ]
    expected = plan(*files, keys_move=True)
    for _ in range(5):
        draw.shuffle(files)
        assert expected == plan(*files, keys_move=True)
    read = [
        file.path + str(file.partition)
        for task in tasks(expected)
        for unit in task.units
        for file in (*unit.deletes, *unit.inserts)
    ]
    assert sorted(read) == sorted(file.path + str(file.partition) for file in files)
