"""Why nodes are as deep as they are, and what would change that: sentences for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arctic.scan.depth.node_loads import NodeLoads
from arctic.scan.explain import counted
from arctic.scan.task import FileTask
from arctic.table.files import TableFile
from arctic.table.node_trees import NodeTrees
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import MAX_TREE_DEPTH, NodeTree


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeReasons:
    """Says of the nodes of one partition why they are there."""

    tree: NodeTree
    """Where new files go."""
    loads: NodeLoads
    least_depth: int
    """Of nodes that are not joined."""

    def of(self, number: int) -> str:
        """Return the sentence about a node that holds files."""
        node = TreeNode.from_id(number)
        leaf = self.tree.capped(node).node_id
        if leaf != number:
            return f"part of node {leaf}, to which its rows go with the next rewrite"
        if number not in self.tree.leaves:
            return "above the leaves, to which its rows go as rewrites make files that fill these"
        text = f"holds {self.loads.text(number)}"
        if self.loads.is_full(number):
            deepest = node.depth >= MAX_TREE_DEPTH
            return f"{text}; no node is deeper" if deepest else f"{text}; the next run divides it"
        return f"{text}; more divides it{self._joining(node)}"

    def _joining(self, node: TreeNode) -> str:
        if node.depth <= self.least_depth:
            return ""
        parent = node.parent()
        (other,) = {half.node_id for half in parent.children()} - {node.node_id}
        if other not in self.tree.leaves:
            return f", and it stays as long as node {other} beside it is divided"
        if self.loads.is_spare(parent.node_id):
            return f", and the next run joins it with node {other}"
        return f", and it is joined with node {other} where both hold {self.loads.spare_text}"

    @property
    def of_fullest(self) -> str:
        """How many nodes there are, and the sentence about the fullest."""
        number = max(self.tree.leaves, key=self.loads.order)
        return f"{counted(len(self.tree.leaves), 'node')}: node {number} {self.of(number)}"


def tree_reasons(
    partition: str,
    trees: NodeTrees,
    data: Iterable[FileTask],
    change_deletes: Iterable[TableFile],
    *,
    target_bytes: int,
) -> TreeReasons:
    """Return what says why the nodes of a partition are there.

    Args:
        partition: its path.
        trees: of the table, which grow.
        data: all base files of it with their position deletes, and inserts that are not merged.
        change_deletes: of it that are not merged.
        target_bytes: of base files.
    """
    return TreeReasons(
        tree=trees.tree(partition),
        loads=NodeLoads(data, change_deletes, target_bytes=target_bytes),
        least_depth=trees.least.complete_depth,
    )
