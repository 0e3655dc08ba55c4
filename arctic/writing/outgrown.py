"""Nodes that are divided while changes are written: what they get is more than one task merges.

Rules:
    - From the chunk on that would be too much, changes of the partition go one level deeper, and
      again when that is too much. What is written stays: readers take nodes of any depth.
    - A table that states how many nodes it has keeps to it, and so does one whose keys may change
      their partition: their deletes know the least nodes only.

Memory: a number for each node that a task writes to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from arctic.tree.node import TreeNode
from arctic.tree.node_tree import MAX_TREE_DEPTH
from arctic.writing.route import Partitions, Places, change_places
from arctic.writing.target import WriteTarget


class Outgrown:
    """What the nodes of one task have got so far."""

    def __init__(self) -> None:
        self._rows: Counter[tuple[str, int]] = Counter()

    def places(
        self, partitions: Partitions, hashes: np.ndarray, target: WriteTarget
    ) -> tuple[Places, WriteTarget]:
        """Return where the changes of a chunk go, and the target that says so.

        Args:
            partitions: of each row.
            hashes: of the key of each row.
            target: the table, with the nodes that it has come to.
        """
        while True:
            places = change_places(partitions, hashes, target)
            if not target.options.grows or target.keys_move:
                return places, target
            counts = _counts(places, target)
            full = {
                path
                for (path, node), rows in counts.items()
                if self._rows[path, node] + rows > target.options.node_rows
                and TreeNode.from_id(node).depth < MAX_TREE_DEPTH
            }
            if not full:
                self._rows += counts
                return places, target
            masks = {path: 2 * _mask(path, counts) + 1 for path in full}
            deep = {**target.options.deep_masks, **masks}
            target = replace(target, options=replace(target.options, deep_masks=deep))


def _counts(places: Places, target: WriteTarget) -> Counter[tuple[str, int]]:
    partitions, width = places.partitions, int(places.node_ids.max(initial=0)) + 1
    found, counts = np.unique(partitions.codes * width + places.node_ids, return_counts=True)
    paths = [target.partition_path(value) for value in partitions.values]
    return Counter(
        {
            (paths[place // width], place % width): count
            for place, count in zip(found.tolist(), counts.tolist(), strict=True)
        }
    )


def _mask(path: str, counts: Counter[tuple[str, int]]) -> int:
    """Return the mask of the deepest node that a partition has rows for."""
    return max(TreeNode.from_id(node).mask for where, node in counts if where == path)
