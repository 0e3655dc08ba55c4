from __future__ import annotations

import pytest

from arctic.errors import InternalError
from arctic.scan.choose.key_filter import ANY_KEY
from arctic.scan.choose.plan_files import plan_files
from arctic.scan.task import PruneCounts
from arctic.table.files import FileKind, TableFile
from arctic.table.filters.predicate import ColumnTest, Op
from arctic.table.snapshot import TableSnapshot
from tests.factories.files import KEY_ID, name_of, named_file

SNAPSHOT = TableSnapshot(
    base_snapshot_id=1,
    change_snapshot_id=2,
    change_sequence_number=9,
    optimized_sequence={("eu",): 5},
)
ID_ABOVE_50 = ColumnTest(op=Op.GT, field_id=KEY_ID, column="id", literal=50)


def insert(sequence_number: int, *, keys: tuple[int, int] = (0, 99), txn: int = 0) -> TableFile:
    """Return an insert file of partition eu."""
    return named_file(
        FileKind.INSERT,
        name_of(FileKind.INSERT, transaction_id=txn, number=sequence_number),
        sequence_number=sequence_number,
        partition=("eu",),
        keys=keys,
    )


def delete(sequence_number: int, *, keys: tuple[int, int] = (0, 99)) -> TableFile:
    """Return a change-delete file of partition eu."""
    return named_file(
        FileKind.CHANGE_DELETE,
        name_of(FileKind.CHANGE_DELETE, number=sequence_number),
        sequence_number=sequence_number,
        partition=("eu",),
        keys=keys,
    )


def base(number: int, *, keys: tuple[int, int] = (0, 99)) -> TableFile:
    """Return a base file of partition eu."""
    name = name_of(FileKind.BASE, transaction_id=3, number=number)
    return named_file(FileKind.BASE, name, sequence_number=4, partition=("eu",), keys=keys)


def test_a_change_file_at_the_optimized_sequence_is_merged() -> None:
    """Up to and including it, whatever transaction the name says: 9 in the name of number 5."""
    files, pruned = plan_files(
        base=(),
        position_deletes=(),
        change=[insert(5, txn=9), insert(6), delete(5), delete(6)],
        snapshot=SNAPSHOT,
        row_filter=None,
        key_filter=ANY_KEY,
    )

    assert [part.file for part in files.data] == [insert(6)]
    assert files.change_deletes == (delete(6),)
    assert pruned == PruneCounts(merged=2)


def test_a_filter_leaves_out_data_but_no_change_delete() -> None:
    """Without the delete, the row that it kills would come back."""
    files, pruned = plan_files(
        base=[base(1, keys=(0, 50)), base(2, keys=(51, 60))],
        position_deletes=(),
        change=[insert(6, keys=(0, 9)), insert(7), delete(8, keys=(0, 9))],
        snapshot=SNAPSHOT,
        row_filter=ID_ABOVE_50,
        key_filter=ANY_KEY,
    )

    assert [part.file for part in files.data] == [base(2, keys=(51, 60)), insert(7)]
    assert files.change_deletes == (delete(8, keys=(0, 9)),)
    assert pruned == PruneCounts(by_filter=2)


def position_delete(
    number: int,
    *,
    node_id: int = 1,
    sequence_number: int = 4,
    partition: str = "eu",
    referenced_path: str | None = None,
) -> TableFile:
    """Return a position-delete file."""
    return named_file(
        FileKind.POS_DELETE,
        name_of(FileKind.POS_DELETE, node_id=node_id, number=number),
        sequence_number=sequence_number,
        partition=(partition,),
        referenced_path=referenced_path,
    )


def test_a_position_delete_applies_by_four_rules() -> None:
    """Partition, sequence number, node, and the file that it names if it names one."""
    data = base(1)
    applying = [
        position_delete(1),
        position_delete(2, sequence_number=5),
        position_delete(3, referenced_path=data.path),
    ]
    others = [
        position_delete(4, partition="us"),
        position_delete(5, sequence_number=3),
        position_delete(6, node_id=2),
        position_delete(7, referenced_path=data.path + "x"),
        position_delete(8, sequence_number=3, referenced_path=data.path),
        position_delete(9, node_id=2, referenced_path=data.path),
        position_delete(10, partition="us", referenced_path=data.path),
    ]

    files, pruned = plan_files(
        base=[data],
        position_deletes=[*others, *applying],
        change=(),
        snapshot=SNAPSHOT,
        row_filter=None,
        key_filter=ANY_KEY,
    )

    (task,) = files.data
    assert {delete.path for delete in applying} == {d.path for d in task.position_deletes}
    assert pruned == PruneCounts(idle_position_deletes=len(others))


def test_a_file_that_is_listed_twice_is_read_once() -> None:
    """As the Java implementation does."""
    files, pruned = plan_files(
        base=[base(1), base(1)],
        position_deletes=[position_delete(1), position_delete(1)],
        change=[delete(6), delete(6), insert(7), insert(7)],
        snapshot=SNAPSHOT,
        row_filter=None,
        key_filter=ANY_KEY,
    )

    assert [part.file for part in files.data] == [base(1), insert(7)]
    assert files.data[0].position_deletes == (position_delete(1),)
    assert files.change_deletes == (delete(6),)
    assert pruned == PruneCounts(listed_again=4)


def test_an_impossible_kind_in_the_change_store_is_a_bug() -> None:
    """Listing refuses it before, so it must not be dropped here."""
    with pytest.raises(InternalError, match="expected I or ED"):
        plan_files(
            base=(),
            position_deletes=(),
            change=[named_file(FileKind.BASE, name_of(FileKind.BASE), sequence_number=9)],
            snapshot=SNAPSHOT,
            row_filter=None,
            key_filter=ANY_KEY,
        )
