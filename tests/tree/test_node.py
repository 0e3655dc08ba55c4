from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import InvalidInputError
from arctic.tree.node import MAX_DEPTH, ROOT, TreeNode, bucket_mask
from tests.tree.vectors import tree_vectors

DEEPEST_ID = 2 ** (MAX_DEPTH + 1) - 1
NODE_VECTORS = [node for node in tree_vectors()["nodes"] if node["id"] <= DEEPEST_ID]
TOO_DEEP_VECTORS = [node for node in tree_vectors()["nodes"] if node["id"] > DEEPEST_ID]


@st.composite
def nodes(draw: st.DrawFn, max_depth: int = MAX_DEPTH) -> TreeNode:
    """Draw a node."""
    mask = 2 ** draw(st.integers(0, max_depth)) - 1
    return TreeNode(mask, draw(st.integers(0, mask)))


@pytest.mark.parametrize("vector", NODE_VECTORS, ids=lambda vector: str(vector["id"]))
def test_a_node_is_what_java_says(vector: dict[str, Any]) -> None:
    """Mask, index, parent and children follow from the id as in the Java implementation."""
    node = TreeNode.from_id(vector["id"])

    assert (vector["mask"], vector["index"]) == (node.mask, node.index)
    assert vector["id"] == node.node_id
    if vector["parent"] is not None:
        assert vector["parent"] == node.parent().node_id
    if node.depth < MAX_DEPTH:
        assert (vector["left"], vector["right"]) == tuple(c.node_id for c in node.children())


@pytest.mark.parametrize(
    "vector",
    tree_vectors()["is_descendant_or_self"],
    ids=lambda vector: f"{vector['node']} in {vector['other']}",
)
def test_containment_is_what_java_says(vector: dict[str, Any]) -> None:
    """A node is within itself and its ancestors, and in nothing else."""
    node, other = TreeNode.from_id(vector["node"]), TreeNode.from_id(vector["other"])

    assert vector["node_is_self_or_descendant_of_other"] == node.is_within(other)


@pytest.mark.parametrize("vector", TOO_DEEP_VECTORS, ids=lambda vector: str(vector["id"]))
def test_a_node_deeper_than_the_hash_is_refused(vector: dict[str, Any]) -> None:
    """Java accepts ids up to 63 bits; beyond 31 they can tell no keys apart."""
    with pytest.raises(InvalidInputError, match="depth 0 to 31"):
        TreeNode.from_id(vector["id"])


@given(nodes())
def test_an_id_stands_for_one_node(node: TreeNode) -> None:
    """Ids and nodes are two writings of the same thing."""
    assert node == TreeNode.from_id(node.node_id)


@given(nodes(max_depth=MAX_DEPTH - 1))
def test_children_have_their_parent(node: TreeNode) -> None:
    """Both children come back to the node, and they share no key."""
    low, high = node.children()

    assert node == low.parent() == high.parent()
    assert not low.overlaps(high)


@given(nodes())
def test_a_lineage_goes_up_to_the_root(node: TreeNode) -> None:
    """Each id after the first is the parent's of the one before; the root is the last."""
    lineage = [TreeNode.from_id(node_id) for node_id in node.lineage_ids()]

    assert node == lineage[0]
    assert lineage[-1] == ROOT
    assert [child.parent() for child in lineage[:-1]] == lineage[1:]


@given(nodes(), st.integers(0, MAX_DEPTH))
def test_a_capped_node_is_its_ancestor_of_that_depth(node: TreeNode, depth: int) -> None:
    """Or the node itself, where it is no deeper."""
    capped = node.capped(2**depth - 1)

    assert capped.depth == min(node.depth, depth)
    assert node.is_within(capped)


@given(nodes(max_depth=5), nodes(max_depth=5))
def test_nodes_overlap_iff_a_hash_falls_into_both(one: TreeNode, other: TreeNode) -> None:
    """Overlap and containment are about sets of hashes; 5 bits show all of them."""
    hashes = range(32)
    in_one = {h for h in hashes if h & one.mask == one.index}
    in_other = {h for h in hashes if h & other.mask == other.index}

    assert bool(in_one & in_other) == one.overlaps(other)
    assert (in_one <= in_other) == one.is_within(other)


@pytest.mark.parametrize(("mask", "index"), [(2, 0), (5, 0), (-1, 0), (3, 4), (3, -1), (2**31, 0)])
def test_what_is_no_node_cannot_be_built(mask: int, index: int) -> None:
    """A mask of another shape would decode to another node."""
    with pytest.raises(InvalidInputError, match="expected"):
        TreeNode(mask, index)


@pytest.mark.parametrize("node_id", [0, -1, DEEPEST_ID + 1])
def test_an_id_out_of_range_is_refused(node_id: int) -> None:
    """Id 0 makes the Java implementation loop for ever."""
    with pytest.raises(InvalidInputError, match="expected"):
        TreeNode.from_id(node_id)


def test_the_root_has_no_parent() -> None:
    """Going up ends at the root."""
    with pytest.raises(InvalidInputError, match=r"^the root node has no parent$"):
        ROOT.parent()


@pytest.mark.parametrize("bucket_count", [1, 2, 4, 1024, 2**31])
def test_a_power_of_two_is_a_bucket_count(bucket_count: int) -> None:
    """The mask of n buckets is n - 1."""
    assert bucket_count - 1 == bucket_mask(bucket_count, subject="buckets")


@pytest.mark.parametrize("bucket_count", [0, -4, 3, 6, 2**32])
def test_another_bucket_count_is_refused(bucket_count: int) -> None:
    """Three buckets would name files of one node with the id of another."""
    with pytest.raises(InvalidInputError, match=r"write buckets = .*power of two"):
        bucket_mask(bucket_count, subject="write buckets")
