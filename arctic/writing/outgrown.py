"""Nodes that are divided while changes are written: what they get is more than one task merges.

Rules:
    - From the chunk on that would be too much, changes of the partition go one level deeper, and
      again when that is too much. What is written stays: readers take nodes of any depth.
    - Where most of a chunk's changes of a node are of one key, it stays: no depth divides these.
    - A table that states how many nodes it has keeps to it, and so does one whose keys may change
      their partition: their deletes know the least nodes only.

Memory: a number for each node that a task writes to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
        paths = [target.partition_path(value) for value in partitions.values]
        while True:
            places = change_places(partitions, hashes, target)
            if not target.options.grows or target.keys_move:
                return places, target
            counts = _counts(places)
            full = {
                code
                for (code, node), rows in counts.items()
                if self._rows[paths[code], node] + rows > target.options.node_rows
                and TreeNode.from_id(node).depth < MAX_TREE_DEPTH
                and _can_be_divided(places, hashes, code, node)
            }
            if not full:
                self._rows.update({(paths[code], node): n for (code, node), n in counts.items()})
                return places, target
            masks = {paths[code]: 2 * _mask(code, counts) + 1 for code in full}
            deep = {**target.options.deep_masks, **masks}
            target = replace(target, options=replace(target.options, deep_masks=deep))


def _counts(places: Places) -> dict[tuple[int, int], int]:
    """Return how many rows each node of each partition, by its number, gets."""
    partitions, width = places.partitions, int(places.node_ids.max(initial=0)) + 1
    found, counts = np.unique(partitions.codes * width + places.node_ids, return_counts=True)
    return {
        divmod(place, width): count
        for place, count in zip(found.tolist(), counts.tolist(), strict=True)
    }


def _can_be_divided(places: Places, hashes: np.ndarray, code: int, node: int) -> bool:
    """Say whether no key has more than half of what a node gets."""
    rows = np.flatnonzero((places.partitions.codes == code) & (places.node_ids == node))
    return bool(2 * np.unique(hashes[rows], return_counts=True)[1].max() <= len(rows))


def _mask(code: int, counts: Mapping[tuple[int, int], int]) -> int:
    """Return the mask of the deepest node that a partition has rows for."""
    return max(TreeNode.from_id(node).mask for where, node in counts if where == code)
