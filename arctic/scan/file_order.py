"""The one order in which planning looks at things, so that the same files make the same plan.

Rules: partition (None first), then node id, transaction id, path. No step of planning may
iterate over a set, or depend on the order in which files arrive.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Any

from arctic.table.files import Partition, TableFile, Value
from arctic.tree.node import TreeNode


def value_order(value: Value) -> tuple[int, Any]:
    """Return a sort key for values of one column: None first, NaN last.

    >>> sorted([3, None, 1], key=value_order)
    [None, 1, 3]
    """
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


@lru_cache(maxsize=2**16)
def partition_order(partition: Partition) -> tuple[tuple[int, Any], ...]:
    """Return a sort key for partitions of one table."""
    return tuple(value_order(value) for value in partition)


def node_order(partition: Partition, node: TreeNode) -> tuple[Any, ...]:
    """Return a sort key for the nodes of one table."""
    return (partition_order(partition), node.node_id)


age_order = attrgetter("transaction_id", "sequence_number", "path")
"""Return a sort key for the files of one task: the oldest transaction first."""


def in_file_order(files: Iterable[TableFile]) -> list[TableFile]:
    """Sort the files of one table: by node, then by age; a path stands in a store once."""
    # In two steps: comparing whole keys of all files with each other takes four times as long.
    nodes: dict[tuple[Any, ...], list[TableFile]] = {}
    for file in files:
        nodes.setdefault(node_order(file.partition, file.node), []).append(file)
    return [file for node in sorted(nodes) for file in sorted(nodes[node], key=age_order)]
