"""The node of each key, among nodes of any depths: whole columns of hashes at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from arctic.tree.node import TreeNode


def node_ids(hashes: npt.NDArray[np.int64], leaves: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the node of each key.

    Args:
        hashes: of the keys.
        leaves: ids of nodes that share no key, and have all of these between them.

    >>> node_ids(np.array([0, 2, 6, 3]), (4, 10, 14, 7)).tolist()
    [4, 10, 14, 7]
    """
    table = _table(tuple(leaves))
    found: npt.NDArray[np.int64] = table[hashes & (len(table) - 1)]
    return found


@lru_cache(maxsize=256)
def _table(leaves: tuple[int, ...]) -> npt.NDArray[np.int64]:
    nodes = [TreeNode.from_id(leaf) for leaf in leaves]
    table = np.zeros(max(node.mask for node in nodes) + 1, dtype=np.int64)
    for node in nodes:
        table[node.index :: node.mask + 1] = node.node_id
    return table
