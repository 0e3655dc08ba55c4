"""Trees share out every key, and their text is read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.tree.node import ROOT, TreeNode
from arctic.tree.node_of_keys import node_ids
from arctic.tree.node_tree import NodeTree
from tests.factories.trees import trees

HASHES = st.integers(0, 2**31 - 1)


@given(trees(), HASHES)
def test_a_key_belongs_to_one_leaf(tree: NodeTree, key: int) -> None:
    """The one that its hash ends in, and ``node_ids`` finds it."""
    leaves = [TreeNode.from_id(leaf) for leaf in tree.leaves]
    found = [leaf.node_id for leaf in leaves if key & leaf.mask == leaf.index]

    assert len(found) == 1
    assert node_ids(np.array([key]), tuple(tree.leaves)).tolist() == found
    assert tree.capped(TreeNode(2**20 - 1, key & (2**20 - 1))).node_id == found[0]


@given(trees())
def test_a_tree_is_read_back_from_its_text(tree: NodeTree) -> None:
    """Whatever is divided."""
    assert NodeTree.parse(str(tree)) == tree


@pytest.mark.parametrize("text", ["", "3", "0", "4:", "4:3", "4:8", "4:6,6", "2:5,2", "4:x", "-4"])
def test_another_text_is_refused(text: str) -> None:
    """Not taken for the nearest tree."""
    with pytest.raises(FormatError, match="expected one such as"):
        NodeTree.parse(text)


@given(trees(), st.integers(0, 15))
def test_the_parts_of_a_node_are_its_leaves_or_what_is_above_them(
    tree: NodeTree, mask_bits: int
) -> None:
    """Each key of the node is in one of them."""
    mask = 2**mask_bits - 1
    parts = [TreeNode.from_id(number) for number in tree.under(ROOT, mask)]

    assert sum(2.0**-part.depth for part in parts) == 1
    assert all(part.mask <= mask and tree.capped(part) == part for part in parts)
    assert all(part.node_id in tree.leaves for part in parts if part.mask < mask)


@given(trees())
def test_what_is_divided_is_joined_again(tree: NodeTree) -> None:
    """To the tree that it was."""
    leaf = min(tree.leaves)
    assert tree.split(leaf).joined(leaf) == tree
