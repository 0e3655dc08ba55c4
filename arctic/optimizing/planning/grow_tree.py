"""How many nodes a partition is worth: decided from what base holds, node by node.

A tiny partition is worth none of them: its rows are in one file of the root.

Strategy: a node is full when its live rows fill more than four files of the target size, or are
more than one task should go over. A full one is divided; two neighbours are joined again where both
together fill a quarter. Files above a node are counted as if their rows were spread evenly.

Rules:
    - What was divided is a quarter full at least, and what was joined is a quarter at most, so no
      tree goes back and forth over rows that stay.
    - So is a tiny partition: divided rows come together where they and what is unmerged are half of
      what stays together.
    - A run divides a node into four at most: rows may be spread unevenly, which the next one sees.
    - Deciding makes nothing due. New files go to the new nodes where files are made anyway.
    - What is unmerged does not count: after the run it is merged, and the tree would shrink again.
      How deep new files go depends on how much is rewritten, in ``output_nodes``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.explain import counted, size_text
from arctic.scan.task import FileTask
from arctic.table.node_trees import TINY_ROWS
from arctic.tree.node import ROOT, TreeNode
from arctic.tree.node_tree import MAX_TREE_DEPTH, NodeTree

FULL_ROWS = 16_000_000
"""One task was measured to merge and write about a million rows a second: a quarter of a minute."""
FULL_FILES = 4
"""Of the target size. Fewer would leave each node with small files that never fill one together: of
one file a node, tables had twice the files, and reads of all rows took a fifth longer."""
_SPARE = 4
_LEVELS = 2
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
    load: Load
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
        fullest = self.load.text(max(divided or self.after.leaves, key=self.load.order))
        count = counted(len(self.after.leaves), "node")
        was = f" instead of {len(self.before.leaves):,}" if gone and not divided else ""
        return f"{count}{was}: {fullest}"


def grow(
    tree: NodeTree,
    base: Sequence[FileTask],
    settings: OptimizeSettings,
    *,
    inserts: Sequence[FileTask] = (),
) -> Growth:
    """Decide about the tree of one partition.

    Args:
        tree: as it was.
        base: its base files with their position deletes.
        settings: of the table.
        inserts: that are not merged; they only count as to whether it is tiny.
    """
    load, least = Load(base, settings), settings.base_buckets
    after = tree
    if len(tree.leaves) != least or load.of(ROOT.node_id) > 1:
        after = _joined(_divided(tree, load), load, least_depth=(least - 1).bit_length())
    return Growth(before=tree, after=after, load=load, tiny=_tiny(base, inserts, settings))


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


class Load:
    """How full each node is: 1.0 is what one should hold at most."""

    def __init__(self, base: Iterable[FileTask], settings: OptimizeSettings) -> None:
        self._full_bytes = FULL_FILES * settings.target_bytes
        self._at: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        self._within: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        for task in base:
            rows = task.file.record_count
            live = max(0, rows - sum(delete.record_count for delete in task.position_deletes))
            size = task.file.size_bytes * live / rows if rows else 0.0
            own, *above = task.file.node.lineage_ids()
            self._at[own] = _sum(self._at[own], (size, live))
            for number in (own, *above):
                self._within[number] = _sum(self._within[number], (size, live))

    def held(self, number: int) -> tuple[float, float]:
        """Return the live bytes and rows of a node."""
        found = self._within.get(number, (0.0, 0.0))
        for levels, above in enumerate(TreeNode.from_id(number).lineage_ids()[1:], start=1):
            size, rows = self._at.get(above, (0.0, 0.0))
            found = _sum(found, (size / 2**levels, rows / 2**levels))
        return found

    def of(self, number: int) -> float:
        """Return how full a node is."""
        size, rows = self.held(number)
        return max(size / self._full_bytes, rows / FULL_ROWS)

    def order(self, number: int) -> tuple[float, int]:
        """Return what sorts nodes: the fullest last, the first of equal ones."""
        return self.of(number), -number

    def text(self, number: int) -> str:
        """Return what a node holds, by what it is fullest of."""
        size, rows = self.held(number)
        if rows / FULL_ROWS > size / self._full_bytes:
            return f"node {number} holds {counted(round(rows), 'row')} of at most {FULL_ROWS:,}"
        most = size_text(self._full_bytes)
        return f"node {number} holds {size_text(round(size))} of at most {most}"


def _tiny(base: Sequence[FileTask], inserts: Sequence[FileTask], settings: OptimizeSettings) -> str:
    """Say that rows are so few that one file of the root is best; empty: they are not."""
    files = [task.file for task in (*base, *inserts)]
    size, rows = sum(each.size_bytes for each in files), sum(each.record_count for each in files)
    is_divided = any(task.file.node.mask >= settings.base_buckets - 1 for task in base)
    spare = _TINY_SPARE if is_divided else 1
    if size * spare > settings.tiny_bytes or rows * spare > TINY_ROWS:
        return ""
    return f"1 node: all files hold {size_text(size)} of at most {size_text(settings.tiny_bytes)}"


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


def _divided(tree: NodeTree, load: Load) -> NodeTree:
    for _ in range(_LEVELS):
        full = [leaf for leaf in tree.leaves if load.of(leaf) > 1]
        for leaf in sorted(full, key=load.order, reverse=True):
            deepest = TreeNode.from_id(leaf).depth >= MAX_TREE_DEPTH
            if not deepest and len(tree.leaves) < _MOST_LEAVES:
                tree = tree.split(leaf)
    return tree


def _joined(tree: NodeTree, load: Load, *, least_depth: int) -> NodeTree:
    """Join neighbours from the deepest on; also up to a lesser depth, once that is stated."""
    depth = max(TreeNode.from_id(leaf).depth for leaf in tree.leaves)
    while depth > least_depth:
        leaves = [leaf for leaf in tree.leaves if leaf.bit_length() - 1 == depth]
        for parent in sorted({TreeNode.from_id(leaf).parent().node_id for leaf in leaves}):
            children = {child.node_id for child in TreeNode.from_id(parent).children()}
            if children <= tree.leaves and load.of(parent) * _SPARE <= 1:
                tree = tree.joined(parent)
        depth -= 1
    return tree


def _is_in_a_leaf(leaf: int, tree: NodeTree) -> bool:
    return tree.capped(TreeNode.from_id(leaf)).node_id in tree.leaves
