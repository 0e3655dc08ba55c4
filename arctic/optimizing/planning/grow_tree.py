"""How many nodes a partition is worth: decided from what each holds, node by node.

A tiny partition is worth none of them: its rows are in one file of the root.

Strategy: a node that is full, as ``node_loads`` weighs it, is divided; two neighbours are joined
again where both together fill a quarter.

Rules:
    - What was divided is a third full of base at least, and what was joined is a quarter at most,
      so no tree goes back and forth over rows that stay, whatever changes come and are merged.
    - So is a tiny partition: divided rows come together where they and what is unmerged are half of
      what stays together.
    - A run divides a node into four at most, and joins four at most: rows may be spread unevenly,
      which the next one sees.
    - Deciding makes nothing due. New files go to the new nodes where files are made anyway, and the
      next writes go by them. How deep new files go depends on how much is rewritten, in
      ``output_nodes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.depth.node_loads import NodeLoads
from arctic.scan.depth.tree_reasons import TreeReasons
from arctic.scan.explain import counted, size_text
from arctic.scan.task import FileTask
from arctic.table.files import TableFile
from arctic.table.node_trees import TINY_ROWS
from arctic.tree.node import ROOT, TreeNode
from arctic.tree.node_tree import MAX_TREE_DEPTH, NodeTree

_LEVELS = 2
"""Deeper or less deep, by one run."""
_MOST_LEAVES = 1_024
"""Beyond so many a partition has several files in each node; they differ by ranges of the key."""
_LEAST_SHARE = 2
"""A new file is so many times a fragment at least, or it would be rewritten by the next run."""
_TINY_SPARE = 2
WHOLE = NodeTree.uniform(ROOT.mask)
"""The tree of rows that are not divided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The tree of a partition: how it was, how it is to be, and why."""

    before: NodeTree
    after: NodeTree
    loads: NodeLoads
    least_depth: int
    """Of nodes that are not joined."""
    tiny: str = ""
    """Why the rows stay together whatever the tree says, for people; empty: they do not."""

    @property
    def nodes(self) -> NodeTree:
        """What the files of a run are of."""
        return WHOLE if self.tiny else self.after

    @property
    def reason(self) -> str:
        """Say it for people: ``5 nodes: node 6 holds 540 MiB of at most 512 MiB``."""
        if self.tiny:
            return self.tiny
        gone = self.before.leaves - self.after.leaves
        divided = [leaf for leaf in gone if not _is_in_a_leaf(leaf, self.after)]
        fullest = max(divided or self.after.leaves, key=self.loads.order)
        count = counted(len(self.after.leaves), "node")
        was = f" instead of {len(self.before.leaves):,}" if gone and not divided else ""
        return f"{count}{was}: node {fullest} holds {self.loads.text(fullest)}"

    def why(self, number: int) -> str:
        """Say why a node that holds files is as deep as it is, and what would change that."""
        reasons = TreeReasons(tree=self.before, loads=self.loads, least_depth=self.least_depth)
        return self.tiny or reasons.of(number)


def grow(
    tree: NodeTree,
    base: Sequence[FileTask],
    settings: OptimizeSettings,
    *,
    inserts: Sequence[FileTask] = (),
    change_deletes: Sequence[TableFile] = (),
) -> Growth:
    """Decide about the tree of one partition.

    Args:
        tree: as it was.
        base: its base files with their position deletes.
        settings: of the table.
        inserts: that are not merged.
        change_deletes: that are not merged.
    """
    loads = NodeLoads((*base, *inserts), change_deletes, target_bytes=settings.target_bytes)
    least_depth, after = (settings.base_buckets - 1).bit_length(), tree
    if len(tree.leaves) != settings.base_buckets or loads.is_full(ROOT.node_id):
        after = _joined(_divided(tree, loads), loads, least_depth=least_depth)
    return Growth(
        before=tree,
        after=after,
        loads=loads,
        least_depth=least_depth,
        tiny=_tiny(base, inserts, settings),
    )


def output_nodes(
    tree: NodeTree, root: TreeNode, rewritten_bytes: int, settings: OptimizeSettings
) -> tuple[int, ...]:
    """Return the nodes that the rows of a task go to: ids that have all keys of its root.

    Small changes stay near the root of the tree, and sink as they are joined with others: in nodes
    of their own they would be fragments, rewritten by every run.

    Args:
        tree: of the partition.
        root: of the task's subtree, no leaf's descendant.
        rewritten_bytes: of the files that are rewritten.
        settings: of the table.
    """
    mask = max(root.mask, settings.base_buckets - 1)
    nodes = tree.under(root, mask)
    while True:
        mask = 2 * mask + 1
        deeper = tree.under(root, mask)
        too_small = len(deeper) * _LEAST_SHARE * settings.fragment_bytes > rewritten_bytes
        if too_small or deeper == nodes:
            return nodes
        nodes = deeper


def _tiny(base: Sequence[FileTask], inserts: Sequence[FileTask], settings: OptimizeSettings) -> str:
    """Say that rows are so few that one file of the root is best; empty: they are not."""
    files = [task.file for task in (*base, *inserts)]
    size, rows = sum(each.size_bytes for each in files), sum(each.record_count for each in files)
    is_divided = any(task.file.node.mask >= settings.base_buckets - 1 for task in base)
    spare = _TINY_SPARE if is_divided else 1
    if size * spare > settings.tiny_bytes or rows * spare > TINY_ROWS:
        return ""
    return f"1 node: all files hold {size_text(size)} of at most {size_text(settings.tiny_bytes)}"


def _divided(tree: NodeTree, loads: NodeLoads) -> NodeTree:
    for _ in range(_LEVELS):
        full = [leaf for leaf in tree.leaves if loads.is_full(leaf)]
        for leaf in sorted(full, key=loads.order, reverse=True):
            deepest = TreeNode.from_id(leaf).depth >= MAX_TREE_DEPTH
            if not deepest and len(tree.leaves) < _MOST_LEAVES:
                tree = tree.split(leaf)
    return tree


def _joined(tree: NodeTree, loads: NodeLoads, *, least_depth: int) -> NodeTree:
    """Join neighbours; also up to a lesser depth, once that is stated."""
    for _ in range(_LEVELS):
        nodes = [TreeNode.from_id(leaf) for leaf in tree.leaves]
        parents = {node.parent() for node in nodes if node.depth > least_depth}
        for parent in parents:
            halves = {child.node_id for child in parent.children()}
            # Of neighbours that were joined just now, the parent waits for the next round.
            if halves <= {node.node_id for node in nodes} and loads.is_spare(parent.node_id):
                tree = tree.joined(parent.node_id)
    return tree


def _is_in_a_leaf(leaf: int, tree: NodeTree) -> bool:
    return tree.capped(TreeNode.from_id(leaf)).node_id in tree.leaves
