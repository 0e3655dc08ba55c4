"""Nodes that keys lie in, in trees of other depths than the one in which they are told apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arctic.tree.node import TreeNode
from arctic.tree.touched_nodes import TouchedNodes


@given(
    st.frozensets(st.integers(0, 63), max_size=5),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_a_node_that_holds_a_key_is_touched(hashes: frozenset[int], told: int, depth: int) -> None:
    """And no other, where it is no deeper than what is told."""
    mask, own = 2**told - 1, 2**depth - 1
    touched = TouchedNodes(mask=mask, indexes=frozenset(each & mask for each in hashes))
    for index in range(own + 1):
        holds = any(each & own == index for each in hashes)
        found = touched.may_hold(TreeNode(own, index))
        assert found or not holds
        assert depth > told or found == holds
