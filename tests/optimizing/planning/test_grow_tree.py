"""How many nodes a partition is worth: enough for its files, and never back and forth."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.grow_tree import grow, output_nodes
from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.depth.node_loads import (
    DELETE_BYTE,
    FULL_ROWS,
    INSERT_BYTE,
    INSERT_ROW,
    MOST_CHANGES,
)
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.table.node_trees import TINY_ROWS
from arctic.tree.node import ROOT, TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import table_file
from tests.factories.trees import trees
from tests.optimizing.lake import settings_of

SETTINGS = settings_of(target_size="100")
"""A node holds 400 bytes, and a fragment has 12 at most."""
FOUR = NodeTree.uniform(3)


def base(node_id: int, size: int, *, rows: int = 1_000, dead: int = 0) -> FileTask:
    """Return a base file of a node, some of its rows deleted."""
    node = TreeNode.from_id(node_id)
    path = f"{node_id}-{size}"
    delete = table_file(f"{path}-d", FileKind.POS_DELETE, node=node, rows=dead)
    file = table_file(path, FileKind.BASE, node=node, size=size, rows=rows)
    return FileTask(file=file, position_deletes=(delete,) if dead else ())


def settled(tree: NodeTree, files: list[FileTask]) -> NodeTree:
    """Decide until nothing changes."""
    for _ in range(16):
        after = grow(tree, files, SETTINGS).after
        if after == tree:
            return tree
        tree = after
    raise AssertionError("the tree never comes to rest")


def everywhere(size: int) -> list[FileTask]:
    """Return files that fill four nodes evenly."""
    return [base(node, size // 4) for node in (4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("size", "leaves"), [(0, 4), (1_600, 4), (1_604, 8), (3_204, 16), (100_000, 256)]
)
def test_there_are_enough_nodes_for_files_of_the_target_size(size: int, leaves: int) -> None:
    """The next power of two, where rows are spread evenly."""
    assert len(settled(FOUR, everywhere(size)).leaves) == leaves


def test_a_run_divides_a_node_into_four_at_most() -> None:
    """How its rows are spread only the next one sees."""
    assert len(grow(FOUR, everywhere(10**6), SETTINGS).after.leaves) == 16


def test_a_run_joins_four_nodes_into_one_at_most() -> None:
    """What comes next may fill them again."""
    assert len(grow(NodeTree.uniform(255), [], SETTINGS).after.leaves) == 64


def test_a_hot_node_is_divided_alone() -> None:
    """The others stay as they are, and the reason names it."""
    found = grow(FOUR, [base(4, 100), base(6, 500)], SETTINGS)

    assert str(found.after) == "4:6"
    assert found.reason == "5 nodes: node 6 holds 500 B of at most 400 B"


def test_keys_that_all_end_alike_are_divided_where_they_differ() -> None:
    """A half that stays empty costs nothing; the full one is divided on."""
    tree = grow(FOUR, [base(4, 1_500)], SETTINGS).after
    deeper = grow(tree, [base(16, 1_500)], SETTINGS).after

    assert {leaf.bit_length() for leaf in deeper.leaves if leaf in {32, 64, 80}} == {7}


def test_rows_that_are_dead_do_not_count() -> None:
    """They go with the next rewrite."""
    assert grow(FOUR, [base(4, 500, dead=300)], SETTINGS).after == FOUR


def test_many_tiny_rows_are_divided_by_their_number() -> None:
    """One task goes over those of one node."""
    found = grow(FOUR, [base(5, 300, rows=FULL_ROWS + 1)], SETTINGS)

    assert str(found.after) == "4:5"
    assert "16,000,001 rows of at most 16,000,000" in found.reason


def test_neighbours_are_joined_once_both_fill_a_quarter() -> None:
    """Not before, and never to fewer nodes than the table begins with."""
    eight = NodeTree.uniform(7)

    assert grow(eight, everywhere(404), SETTINGS).after == eight
    assert grow(eight, everywhere(400), SETTINGS).after == FOUR
    assert settled(NodeTree.uniform(63), []) == FOUR
    assert grow(eight, everywhere(400), SETTINGS).reason.startswith("4 nodes instead of 8: ")


def insert(node_id: int, size: int, *, rows: int = 1) -> FileTask:
    """Return a file of inserts."""
    node = TreeNode.from_id(node_id)
    path = f"{node_id}-i-{size}"
    return FileTask(file=table_file(path, FileKind.INSERT, node=node, size=size, rows=rows))


def deletes(node_id: int, size: int, *, rows: int = 1) -> TableFile:
    """Return a file of deletes."""
    node = TreeNode.from_id(node_id)
    return table_file(
        f"{node_id}-d-{size}", FileKind.CHANGE_DELETE, node=node, size=size, rows=rows
    )


def test_a_node_is_divided_whose_changes_outgrow_one_task() -> None:
    """Inserts and deletes, by what merging them takes; the reason says how much that is."""
    held = [base(6, 300, rows=10)]
    few = int(100 / INSERT_BYTE)
    found = grow(FOUR, held, SETTINGS, inserts=[insert(6, few + 1)])

    assert str(found.after) == "4:6"
    weight = round(INSERT_BYTE * (few + 1))
    assert found.reason == (
        f"5 nodes: node 6 holds 300 B, and changes that weigh as much as {weight} B, of at most "
        "400 B"
    )
    assert grow(FOUR, held, SETTINGS, inserts=[insert(6, few)]).after == FOUR
    few = int((100 - INSERT_BYTE) / DELETE_BYTE)
    for size, tree in ((few, "4"), (few + 1, "4:6")):
        changes: Any = {"inserts": [insert(6, 1)], "change_deletes": [deletes(6, size)]}
        assert str(grow(FOUR, held, SETTINGS, **changes).after) == tree


def test_deletes_divide_no_node_whose_rows_they_may_take() -> None:
    """And unite none either, whose keys may be of nobody: that is known once they are merged."""
    held = [base(6, 380, rows=1_000)]

    for count, tree in ((1_000, "4"), (500, "4"), (100, "4:6")):
        change_deletes = [deletes(6, 40, rows=count)]
        assert str(grow(FOUR, held, SETTINGS, change_deletes=change_deletes).after) == tree
        change_deletes = [deletes(node, 100, rows=1_000) for node in (8, 12)]
        eight = NodeTree.uniform(7)
        assert grow(eight, everywhere(800), SETTINGS, change_deletes=change_deletes).after == eight


def test_changes_of_few_bytes_count_by_their_rows() -> None:
    """As rows of base do."""
    held = [base(6, 300, rows=FULL_ROWS // 2)]
    few = int(FULL_ROWS / 2 / INSERT_ROW)

    found = grow(FOUR, held, SETTINGS, inserts=[insert(6, 1, rows=few + 1)])

    assert str(found.after) == "4:6"
    assert "8,000,000 rows, and changes that weigh as much as 8,000,00" in found.reason
    assert grow(FOUR, held, SETTINGS, inserts=[insert(6, 1, rows=few)]).after == FOUR


def test_changes_alone_divide_nothing() -> None:
    """Merged, they may be as few rows as base has now: the node would be joined again."""
    third = 400 // (1 + MOST_CHANGES)
    many: Any = {"inserts": [insert(6, 10**6)], "change_deletes": [deletes(6, 10**6)]}

    assert grow(FOUR, [base(6, third, rows=10)], SETTINGS, **many).after == FOUR
    assert str(grow(FOUR, [base(6, third + 1, rows=10)], SETTINGS, **many).after) == "4:6"


def test_what_changes_divided_stays_divided_where_a_fifth_of_base_is_gone() -> None:
    """The least base that endless changes divide is far from what is joined."""
    endless = [insert(6, 10**6)]
    trees_by_size = (
        (size, grow(FOUR, [base(6, size, rows=10)], SETTINGS, inserts=endless).after)
        for size in range(400)
    )
    least, tree = next((size, tree) for size, tree in trees_by_size if tree != FOUR)

    assert grow(tree, [base(6, int(0.8 * least), rows=10)], SETTINGS).after == tree


def test_neighbours_with_many_changes_are_not_joined() -> None:
    """They would weigh more than a quarter of a node until the changes are merged."""
    eight = NodeTree.uniform(7)

    assert grow(eight, everywhere(400), SETTINGS, inserts=[insert(8, 1)]).after != FOUR
    assert grow(eight, everywhere(400), SETTINGS).after == FOUR


_STEPS = st.tuples(
    st.floats(0.88, 1.12),
    st.lists(st.tuples(st.integers(1, 15), st.integers(0, 5_000)), max_size=3),
    st.lists(st.tuples(st.integers(1, 15), st.integers(0, 5_000)), max_size=3),
)


@given(
    trees(),
    st.lists(st.tuples(st.integers(4, 15), st.integers(0, 900)), max_size=6),
    st.lists(_STEPS, min_size=2, max_size=12),
)
def test_a_table_that_hovers_at_a_border_is_not_divided_and_united_in_turns(
    tree: NodeTree, held: list[tuple[int, int]], steps: list[Any]
) -> None:
    """Whatever changes come and are merged while base stays about as large: each node once."""
    divided: list[set[int]] = []
    for factor, inserted, deleted in steps:
        tree = grow(
            tree,
            [base(node, int(size * factor), rows=10) for node, size in held],
            SETTINGS,
            inserts=[insert(node, size) for node, size in inserted],
            change_deletes=[deletes(node, size) for node, size in deleted],
        ).after
        nodes = (TreeNode.from_id(leaf).lineage_ids()[1:] for leaf in tree.leaves)
        divided.append(set().union(*nodes))

    for node in set().union(*divided):
        turns = [node in one for one in divided]
        assert sum(one != other for one, other in pairwise(turns)) <= 1, node


@pytest.mark.parametrize(
    ("number", "held", "reason"),
    [
        (5, [base(5, 300)], "holds 300 B of at most 400 B; more divides it"),
        (5, [base(5, 401)], "holds 401 B of at most 400 B; the next run divides it"),
        (12, [base(4, 1)], "part of node 4, to which its rows go with the next rewrite"),
        (1, [], "above the leaves, to which its rows go as rewrites make files that fill these"),
        (
            10,
            [base(10, 60), base(14, 60)],
            "holds 60 B of at most 400 B; more divides it, and it is joined with node 14 where "
            "both hold at most 100 B and 4,000,000 rows",
        ),
        (
            10,
            [base(10, 60)],
            "holds 60 B of at most 400 B; more divides it, and the next run joins it with node 14",
        ),
    ],
)
def test_it_is_said_why_a_node_is_as_deep_and_what_changes_that(
    number: int, held: list[FileTask], reason: str
) -> None:
    """Of leaves, and of nodes that new files do not go to."""
    assert grow(FOUR.split(6), held, SETTINGS, inserts=[insert(4, 11)]).why(number) == reason


def test_a_node_beside_a_divided_one_stays() -> None:
    """Until that one is joined itself."""
    found = grow(FOUR.split(6).split(14), [base(10, 50), base(14, 300)], SETTINGS)

    assert found.why(10) == (
        "holds 50 B of at most 400 B; more divides it, and it stays as long as node 14 beside it "
        "is divided"
    )


FILES = st.lists(
    st.builds(base, st.integers(1, 31), st.integers(0, 5_000), dead=st.integers(0, 1_000)),
    max_size=12,
)


@given(trees(), FILES)
def test_a_tree_comes_to_rest(tree: NodeTree, files: list[FileTask]) -> None:
    """Over rows that stay, wherever the files are."""
    settled(tree, files)


@given(FILES, st.floats(0.3, 1.0))
def test_a_tree_does_not_go_back_and_forth(files: list[FileTask], share: float) -> None:
    """What was divided stays so until most of its rows are gone."""
    live = [base(task.file.node.node_id, task.file.size_bytes) for task in files]
    fewer = [base(task.file.node.node_id, int(task.file.size_bytes * share)) for task in files]
    grew = settled(FOUR, live)

    assert settled(grew, fewer) == grew


@given(trees(), st.integers(0, 100_000))
def test_new_files_are_larger_than_fragments_where_they_can_be(tree: NodeTree, size: int) -> None:
    """Or of the fewest nodes; rows of a leaf never go deeper."""
    nodes = output_nodes(tree, ROOT, size, SETTINGS)
    least = tree.under(ROOT, SETTINGS.base_buckets - 1)

    assert nodes == least or size >= 2 * SETTINGS.fragment_bytes * len(nodes)
    assert all(tree.capped(TreeNode.from_id(node)).node_id == node for node in nodes)


@pytest.mark.parametrize(
    ("node", "size", "unmerged", "is_tiny"),
    [
        (1, 10, 0, True),
        (1, 6, 4, True),
        (1, 6, 5, False),
        (2, 10, 0, True),
        (4, 5, 0, True),
        (4, 6, 0, False),
        (4, 3, 3, False),
        (16, 5, 0, True),
    ],
)
def test_rows_of_a_tiny_partition_come_together_and_stay_so(
    node: int, size: int, unmerged: int, is_tiny: bool
) -> None:
    """Divided ones have to be half of it, with what is unmerged."""
    inserts = [base(4, unmerged)] if unmerged else []
    found = grow(FOUR, [base(node, size)], SETTINGS, inserts=inserts)

    assert bool(found.tiny) == is_tiny
    assert found.after == FOUR, "where its rows go once there are more"
    assert found.nodes == (NodeTree.uniform(0) if is_tiny else FOUR)
    if is_tiny:
        held = size + unmerged
        assert found.reason == f"1 node: all files hold {held} B of at most 10 B"
        assert output_nodes(found.nodes, ROOT, held, SETTINGS) == (1,)


def test_many_rows_of_few_bytes_are_not_tiny() -> None:
    """Several tasks share them."""
    assert grow(FOUR, [base(1, 10, rows=TINY_ROWS)], SETTINGS).tiny
    assert not grow(FOUR, [base(1, 10, rows=TINY_ROWS + 1)], SETTINGS).tiny
    assert not grow(FOUR, [base(4, 1, rows=TINY_ROWS // 2 + 1)], SETTINGS).tiny


@given(st.integers(1, 20), st.integers(0, 20))
def test_rows_that_stay_are_not_moved_twice(size: int, unmerged: int) -> None:
    """Whatever a run decided, the next one decides, whether inserts replaced rows or not."""
    inserts = [base(4, unmerged)] if unmerged else []
    nodes = grow(FOUR, [], SETTINGS, inserts=[base(4, size), *inserts]).nodes
    for merged in range(max(size, unmerged), size + unmerged + 1):
        after = [base(leaf, merged // len(nodes.leaves) or 1) for leaf in nodes.leaves]
        if nodes == FOUR and 2 * sum(task.file.size_bytes for task in after) <= 10:
            continue  # Most of what was written is gone.
        assert grow(FOUR, after, SETTINGS).nodes == nodes


def test_what_is_tiny_costs_more_to_open_than_to_read() -> None:
    """And is a fragment, however small the files of a table are to be."""
    assert OptimizeSettings.of({}, {}).tiny_bytes == 4 * 2**20
    assert SETTINGS.tiny_bytes == 10
    assert settings_of(target_size="16").tiny_bytes == 2
