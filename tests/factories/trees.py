"""Trees of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from arctic.tree.node_tree import NodeTree


def trees() -> st.SearchStrategy[NodeTree]:
    """Draw trees of leaves that are as deep as each other, or not."""

    def divided(tree: NodeTree, places: Sequence[int]) -> NodeTree:
        for place in places:
            leaves = sorted(tree.leaves)
            tree = tree.split(leaves[place % len(leaves)])
        return tree

    least = st.sampled_from([0, 1, 3]).map(NodeTree.uniform)
    return st.builds(divided, least, st.lists(st.integers(0, 15), max_size=4))
