"""The nodes that some keys lie in, by the low bits of their hashes."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedNodes:
    """The nodes of some keys, in a tree of one depth."""

    mask: int
    """Of that tree: its nodes less one."""
    indexes: frozenset[int]
    """Of the nodes."""

    def may_hold(self, node: TreeNode) -> bool:
        """Say whether one of the keys can be in a node, which may lie deeper or less deep.

        >>> touched = TouchedNodes(mask=3, indexes=frozenset([2]))
        >>> [touched.may_hold(TreeNode(1, index)) for index in (0, 1)]
        [True, False]
        >>> touched.may_hold(TreeNode(7, 6))
        True
        """
        if node.mask >= self.mask:
            return node.index & self.mask in self.indexes
        return any(index & node.mask == node.index for index in self.indexes)
