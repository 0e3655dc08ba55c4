"""Subtrees that share no key: what independent tasks work on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arctic.tree.node import TreeNode


def subtree_roots(nodes: Iterable[TreeNode], *, base_buckets: int) -> Mapping[TreeNode, TreeNode]:
    """Return, for each node, the root of the subtree whose task works on it.

    A root is a node that holds files and has no ancestor that does; no root is deeper than the
    nodes of base files, because files of one such node must not overlap.

    >>> deep, high, other = TreeNode(7, 5), TreeNode(3, 1), TreeNode(3, 0)
    >>> roots = subtree_roots([deep, high, other], base_buckets=4)
    >>> roots[deep] == high, roots[other] == other
    (True, True)
    """
    capped = {node: node.capped(base_buckets - 1) for node in nodes}
    holders = {node.node_id for node in capped.values()}
    return {
        node: TreeNode.from_id(
            next(number for number in reversed(start.lineage_ids()) if number in holders)
        )
        for node, start in capped.items()
    }
