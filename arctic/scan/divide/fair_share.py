"""How heavy a group should be: the level that packing fills groups up to.

The average of all tasks is too much: each part of a node counts the deletes that the parts share,
so all parts would fall into few groups. The average with each file counted once is too little:
groups would be full of deletes before they held a fair part of the data.

Strategy: at a share of L, a group that reads parts of a node has room for L minus the node's
deletes. The fair share is the least L for which the groups suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

from arctic.scan.task import NodeTask
from arctic.scan.weight import packing_weight_bytes


def fair_share_bytes(
    tasks: Sequence[NodeTask], *, group_count: int, open_file_cost_bytes: int
) -> int:
    """Return the cost of a group when the work is spread evenly and parts of a node stay close.

    It exceeds the average of all tasks, shared deletes counted for each, by less than the
    heaviest task.

    Args:
        tasks: at least one.
        group_count: at most the number of tasks.
        open_file_cost_bytes: the least that a file weighs.
    """
    nodes: dict[object, list[NodeTask]] = {}
    for task in tasks:
        nodes.setdefault((task.partition, task.node), []).append(task)
    whole_bytes = sum(parts[0].cost_bytes for parts in nodes.values() if len(parts) == 1)
    split = [
        _data_and_deletes(parts, open_file_cost_bytes) for parts in nodes.values() if len(parts) > 1
    ]

    def suffices(share_bytes: int) -> bool:
        needed = whole_bytes / share_bytes
        needed += sum(data / (share_bytes - deletes) for data, deletes in split)
        return needed <= group_count

    low = max((deletes for _, deletes in split), default=0) + 1
    high = max(low, sum(task.cost_bytes for task in tasks))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _data_and_deletes(parts: Sequence[NodeTask], open_file_cost_bytes: int) -> tuple[int, int]:
    """Return what all data of a node weighs, and what the deletes of one part weigh on average."""
    data_bytes = packing_weight_bytes(
        (file_task.file for part in parts for file_task in part.data),
        open_file_cost_bytes=open_file_cost_bytes,
    )
    return data_bytes, (sum(part.cost_bytes for part in parts) - data_bytes) // len(parts)
