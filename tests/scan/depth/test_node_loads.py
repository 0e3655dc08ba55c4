"""What nodes weigh: by literals, since nothing else decides how deep they are."""

from __future__ import annotations

import pytest

from arctic.scan.depth.node_loads import (
    DELETE_BYTE,
    FULL_FILES,
    FULL_ROWS,
    INSERT_BYTE,
    INSERT_ROW,
    MOST_CHANGES,
    SPARE,
    NodeLoads,
)
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.tree.node import TreeNode
from tests.factories.files import table_file

TARGET = 250
FULL = FULL_FILES * TARGET


def data(
    number: int, size: int, rows: int, kind: FileKind = FileKind.BASE, dead: int = 0
) -> FileTask:
    """Return a data file of a node, some of its rows deleted by position."""
    node = TreeNode.from_id(number)
    file = table_file(f"{kind}-{number}", kind, size, rows=rows, node=node)
    delete = table_file("d", FileKind.POS_DELETE, 10, rows=dead, node=node)
    return FileTask(file=file, position_deletes=(delete,) if dead else ())


def loads(*files: FileTask, deletes: tuple[int, int, int] | None = None) -> NodeLoads:
    """Return loads of files, and of one file of change deletes: of a node, of a size, of rows."""
    found = []
    if deletes is not None:
        number, size, rows = deletes
        node = TreeNode.from_id(number)
        found = [table_file("e", FileKind.CHANGE_DELETE, size, rows=rows, node=node)]
    return NodeLoads(files, found, target_bytes=TARGET)


def test_base_weighs_what_is_alive_of_it() -> None:
    """By its bytes, or by its rows where these are more."""
    assert loads(data(5, 500, 100)).of(5) == 500 / FULL
    assert loads(data(5, 500, 100, dead=25)).of(5) == 375 / FULL
    assert loads(data(5, 500, 100, dead=200)).of(5) == 0
    assert loads(data(5, 1, FULL_ROWS // 4)).of(5) == 0.25
    assert loads(data(5, 0, 0)).of(5) == 0


def test_files_above_a_node_count_by_its_share() -> None:
    """And those below it whole."""
    found = loads(data(1, 400, 4), data(5, 100, 1), data(13, 60, 1))

    assert [found.of(number) * FULL for number in (1, 3, 5, 13)] == pytest.approx(
        [560, 360, 260, 160]
    )
    assert found.of(4) * FULL == pytest.approx(100)


def test_inserts_and_deletes_weigh_what_merging_them_takes() -> None:
    """Beside base of the same node, wherever they lie themselves."""
    insert = data(1, 40, 8, FileKind.INSERT)
    found = loads(data(5, 500, 100), insert, deletes=(1, 20, 8))

    assert found.of(5) * FULL == pytest.approx(500 + INSERT_BYTE * 40 / 4 + DELETE_BYTE * 20 / 4)


def test_changes_weigh_up_to_a_multiple_of_base() -> None:
    """So that a node of little base is never divided for them."""
    insert = data(5, 10**6, 1, FileKind.INSERT)

    assert loads(data(5, 100, 1), insert).of(5) * FULL == pytest.approx(100 * (1 + MOST_CHANGES))
    assert loads(insert).of(5) == 0


def test_rows_that_deletes_may_take_count_where_nodes_are_joined_alone() -> None:
    """Deletes beyond the inserts, each of one row: none can take two."""
    base, deletes = data(5, FULL, 100), (5, 0, 80)

    found = loads(base, deletes=deletes)
    beside = loads(base, data(5, 0, 80, FileKind.INSERT), deletes=deletes)

    assert found.of(5) == pytest.approx(0.2)
    assert not found.is_spare(5)
    assert beside.of(5) == pytest.approx(1.0)


def test_a_node_is_full_above_its_bound_and_spare_up_to_a_part_of_it() -> None:
    """Exactly there."""
    assert not loads(data(5, FULL, 1)).is_full(5)
    assert loads(data(5, FULL + 1, 1)).is_full(5)
    assert loads(data(5, FULL // SPARE, 1)).is_spare(5)
    assert not loads(data(5, FULL // SPARE + 1, 1)).is_spare(5)


def test_what_a_node_holds_is_said_by_what_it_is_more_of() -> None:
    """Bytes or rows, and changes apart from base."""
    assert loads(data(5, 500, 100)).text(5) == "500 B of at most 1000 B"
    few = loads(data(5, 1, 3_000_000), data(5, 1, 2_000_000, FileKind.INSERT))
    weight = int(INSERT_ROW * 2_000_000)
    assert few.text(5) == (
        f"3,000,000 rows, and changes that weigh as much as {weight:,}, of at most 16,000,000"
    )
    assert few.spare_text == "at most 250 B and 4,000,000 rows"
