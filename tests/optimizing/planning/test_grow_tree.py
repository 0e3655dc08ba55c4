"""How many nodes a partition is worth: enough for its files, and never back and forth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.grow_tree import FULL_ROWS, grow, output_nodes
from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
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
    assert grow(NodeTree.uniform(63), [], SETTINGS).after == FOUR
    assert grow(eight, everywhere(400), SETTINGS).reason.startswith("4 nodes instead of 8: ")


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
