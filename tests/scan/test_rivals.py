"""Which merged files may outdo an insert, decided with literals only."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from arctic.scan.reach import FileRanges, Reach, ReachIndex
from arctic.scan.rivals import RivalIndex, rivals_of
from arctic.scan.task import FileTask
from arctic.table.files import ColumnBounds, FileKind, TableFile
from arctic.tree.node import TreeNode

KEY, AT = 1, 2


def file_of(
    name: str,
    kind: FileKind,
    *,
    keys: tuple[int, int],
    order: tuple[int | None, int | None],
    nulls: int | None = 0,
    node: TreeNode | None = None,
    transaction: int = 1,
) -> TableFile:
    """Return a file with bounds of its key and of the ordering column."""
    return TableFile(
        path=name,
        kind=kind,
        node=node or TreeNode(0, 0),
        partition=(),
        transaction_id=transaction,
        sequence_number=transaction,
        size_bytes=1,
        record_count=9,
        bounds={
            KEY: ColumnBounds(lower=keys[0], upper=keys[1], null_count=0),
            AT: ColumnBounds(lower=order[0], upper=order[1], null_count=nulls),
        },
    )


INSERT = file_of("i", FileKind.INSERT, keys=(10, 20), order=(5, 9), transaction=7)


def found(inserts: Sequence[TableFile], *rivals: TableFile, ordering: Sequence[int] = (AT,)) -> str:
    """Return the names of the rivals that are left."""
    tasks = [FileTask(file=file) for file in rivals]
    ranges = FileRanges((KEY,), ordering)
    return "".join(task.file.path for task in rivals_of(inserts, tasks, ranges))


@pytest.mark.parametrize(
    ("keys", "upper", "is_rival"),
    [
        ((0, 10), 6, True),
        ((0, 9), 6, False),
        ((10, 20), 5, False),
        ((10, 20), 6, True),
        ((10, 20), None, True),
    ],
)
def test_a_rival_shares_keys_and_reaches_above_the_least_insert(
    keys: tuple[int, int], upper: int | None, is_rival: bool
) -> None:
    """At an equal value the insert wins, as the later commit; unknown bounds leave nothing out."""
    base = file_of("b", FileKind.BASE, keys=keys, order=(0, upper))

    assert found([INSERT], base) == ("b" if is_rival else "")


def test_an_equal_first_value_decides_nothing_where_more_columns_follow() -> None:
    """The second could be greater."""
    base = file_of("b", FileKind.BASE, keys=(10, 20), order=(0, 5))

    assert found([INSERT], base, ordering=(AT, 3)) == "b"


def test_inserts_that_may_be_null_can_be_below_anything() -> None:
    """A null is the least of all values, and bounds say nothing of it."""
    base = file_of("b", FileKind.BASE, keys=(10, 20), order=(0, 1))
    for nulls in (1, None):
        insert = file_of("i", FileKind.INSERT, keys=(10, 20), order=(5, 9), nulls=nulls)
        assert found([INSERT, insert], base) == "b"


def test_base_rows_have_no_rivals() -> None:
    """What is merged was decided."""
    base = file_of("b", FileKind.BASE, keys=(10, 20), order=(0, 9))

    assert found([base], base) == ""


def test_rivals_are_found_in_overlapping_nodes() -> None:
    """Of base, whose nodes may be higher or deeper than those of the inserts."""
    nodes = {"r": TreeNode(0, 0), "l": TreeNode(1, 0), "o": TreeNode(1, 1), "d": TreeNode(3, 2)}
    rivals = [
        FileTask(file=file_of(name, FileKind.BASE, keys=(0, 99), order=(0, 9), node=node))
        for name, node in nodes.items()
    ]
    tasks = RivalIndex(rivals, FileRanges((KEY,), (AT,))).of((), TreeNode(1, 0), [INSERT])

    assert sorted(task.file.path for task in tasks) == ["d", "l", "r"]


def test_an_older_delete_reaches_an_insert_only_by_order() -> None:
    """Without ordering columns no delete of an older transaction can kill it."""
    delete = file_of("e", FileKind.CHANGE_DELETE, keys=(10, 20), order=(0, 9), transaction=3)

    for ordering, reach in (((AT,), Reach.POSSIBLE), ((), Reach.TOO_OLD)):
        ranges = FileRanges((KEY,), ordering)
        assert ReachIndex.of([INSERT], ranges).judge(delete, ranges.of(delete)) is reach
