"""Subtrees that share no key: what independent tasks work on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arctic.tree.node import MAX_MASK, TreeNode
from arctic.tree.node_tree import NodeTree


def subtree_roots(
    nodes: Iterable[TreeNode], tree: NodeTree, *, mask: int = MAX_MASK
) -> Mapping[TreeNode, TreeNode]:
    """Return, for each node, the root of the subtree whose task works on it.

    A root is a node that holds files and has no ancestor that does; no root is deeper than a leaf
    of the tree, because files of one leaf must not overlap.

    Args:
        nodes: that hold files.
        tree: of their partition.
        mask: no root is deeper than this either.

    >>> deep, high, other = TreeNode(7, 5), TreeNode(3, 1), TreeNode(3, 0)
    >>> roots = subtree_roots([deep, high, other], NodeTree.uniform(3))
    >>> roots[deep] == high, roots[other] == other
    (True, True)
    """
    capped = {node: tree.capped(node).capped(mask) for node in nodes}
    holders = {node.node_id for node in capped.values()}
    return {
        node: TreeNode.from_id(
            next(number for number in reversed(start.lineage_ids()) if number in holders)
        )
        for node, start in capped.items()
    }
