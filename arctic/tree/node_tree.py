"""A tree of nodes that share out all keys: its leaves, each as deep as what it holds asks for.

Rules:
    - Every key belongs to exactly one leaf.
    - A tree is a wish, not a fact: files may be of any nodes, and a reader takes them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from arctic.errors import FormatError
from arctic.tree.node import TreeNode

MAX_TREE_DEPTH = 16
"""The deepest leaf that anybody asks for: a table of all nodes of its depth fits into a cache."""


@dataclass(frozen=True, slots=True)
class NodeTree:
    """The leaves of a tree.

    >>> tree = NodeTree.uniform(3).split(6)
    >>> sorted(tree.leaves), str(tree), tree.capped(TreeNode(31, 2))
    ([4, 5, 7, 10, 14], '4:6', TreeNode(mask=7, index=2))
    """

    leaves: frozenset[int]
    """Ids of nodes."""

    @classmethod
    def uniform(cls, mask: int) -> NodeTree:
        """Return the tree whose leaves are all nodes of a mask."""
        return cls(frozenset(range(mask + 1, 2 * mask + 2)))

    @classmethod
    def parse(cls, text: str) -> NodeTree:
        """Read what ``str`` returned: a count of nodes, and which of them are divided.

        Raises:
            FormatError: any other text.
        """
        count, _, divided = text.partition(":")
        try:
            tree = cls.uniform(min(int(count), 1 << MAX_TREE_DEPTH) - 1)
            for number in map(int, filter(None, divided.split(","))):
                tree = tree.split(number)
        except (ValueError, KeyError) as error:
            raise _unreadable(text) from error
        if not tree.leaves or str(tree) != text:
            raise _unreadable(text)
        return tree

    def __str__(self) -> str:
        """Return how many nodes the widest complete level has, then what is divided below it."""
        least = self.complete_depth
        divided: set[int] = set()
        for leaf in self.leaves:
            for number in TreeNode.from_id(leaf).lineage_ids()[1:]:
                if number < 1 << least or number in divided:
                    break
                divided.add(number)
        tail = ",".join(map(str, sorted(divided)))
        return f"{1 << least}:{tail}" if tail else str(1 << least)

    @property
    def complete_depth(self) -> int:
        """The depth of the widest complete level: no leaf is above it."""
        return min(self.leaves).bit_length() - 1

    def capped(self, node: TreeNode) -> TreeNode:
        """Return the leaf that a node is in; the node itself where it is above the leaves."""
        found = next((each for each in node.lineage_ids() if each in self.leaves), None)
        return node if found is None else TreeNode.from_id(found)

    def under(self, root: TreeNode, mask: int) -> tuple[int, ...]:
        """Return the nodes that a node consists of: its leaves, or what is above them at a mask.

        Args:
            root: no descendant of a leaf.
            mask: no shallower than that of the root.

        Returns:
            Ids, ascending; none is within another.

        >>> tree = NodeTree.uniform(3).split(6)
        >>> tree.under(TreeNode(1, 0), 1), tree.under(TreeNode(1, 0), 15)
        ((2,), (4, 10, 14))
        """
        found, open_nodes = [], [root]
        while open_nodes:
            node = open_nodes.pop()
            if node.mask >= mask or node.node_id in self.leaves:
                found.append(node.node_id)
            else:
                open_nodes += node.children()
        return tuple(sorted(found))

    def split(self, leaf: int) -> NodeTree:
        """Return the tree in which a leaf is divided in two.

        Raises:
            KeyError: it is no leaf.
        """
        if leaf not in self.leaves:
            raise KeyError(leaf)
        children = (child.node_id for child in TreeNode.from_id(leaf).children())
        return NodeTree((self.leaves - {leaf}).union(children))

    def joined(self, parent: int) -> NodeTree:
        """Return the tree in which the two children of a node, both leaves, are one leaf."""
        children = {child.node_id for child in TreeNode.from_id(parent).children()}
        return NodeTree((self.leaves - children) | {parent})


def _unreadable(text: str) -> FormatError:
    return FormatError(f"tree of nodes {text!r}: expected one such as '4:6,14'")
