"""Node tasks become groups of like cost, one group for each Spark task.

Strategy: number partitioning, sorted greedy. The heaviest task goes first, each to the bin that
is lightest. A bin that already reads the same node, or else the same partition, is preferred as
long as it stays within its fair share: change deletes that tasks of a group share are read once.
Parts of one node go one after the other, so that neighbours in key order meet in one group.

The fair share is the level that groups are filled up to. The average of all tasks is too much: each
part of a node counts the deletes that the parts share, so all parts would fall into few groups. The
average with each file counted once is too little: groups would be full of deletes before they held
a fair part of the data. At a share of L, a group that reads parts of a node has room for L minus
the node's deletes, and the fair share is the least L for which the groups suffice.

Law: no group is heavier than the average, shared deletes counted for each task, plus the heaviest
task.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arctic.scan.divide.join import join_tasks
from arctic.scan.file_order import node_order
from arctic.scan.task import NodeTask, NodeTaskGroup, ScanOptions, packing_weight_bytes
from arctic.table.files import Partition

_Node = tuple[Partition, int]


def pack_tasks(tasks: Sequence[NodeTask], *, options: ScanOptions) -> tuple[NodeTaskGroup, ...]:
    """Distribute tasks over at most ``options.max_groups`` groups.

    Returns:
        Groups with the heaviest first, so that a long one does not start last. What a group reads
        of one node is one task.
    """
    if not tasks:
        return ()
    count = min(options.max_groups, len(tasks))
    cost_bytes = options.open_file_cost_bytes
    fair_bytes = _fair_share_bytes(tasks, group_count=count, open_file_cost_bytes=cost_bytes)
    bins = _Bins(count=count, fair_bytes=fair_bytes, open_file_cost_bytes=cost_bytes)
    for task in _heaviest_first(tasks):
        bins.place(task)
    filled = [chosen for chosen in bins.all if chosen.tasks]
    filled.sort(key=lambda chosen: (-chosen.load_bytes, *_task_order(chosen.tasks[0])))
    joined = join_tasks([chosen.tasks for chosen in filled], open_file_cost_bytes=cost_bytes)
    return tuple(
        NodeTaskGroup(tasks=group, cost_bytes=chosen.load_bytes)
        for group, chosen in zip(joined, filled, strict=True)
    )


def _heaviest_first(tasks: Sequence[NodeTask]) -> list[NodeTask]:
    """Sort by cost, all parts of one node by that of the heaviest part."""
    costs: dict[_Node, int] = {}
    for task in tasks:
        node = _node(task)
        costs[node] = max(task.cost_bytes, costs.get(node, 0))
    return sorted(tasks, key=lambda task: (-costs[_node(task)], *_task_order(task)))


def _node(task: NodeTask) -> _Node:
    return (task.partition, task.node.node_id)


def _task_order(task: NodeTask) -> tuple[Any, ...]:
    return (*node_order(task.partition, task.node), task.part_number)


@dataclass(slots=True, kw_only=True)
class _Bin:
    """A group in the making; never leaves this module."""

    number: int
    load_bytes: int = 0
    tasks: list[NodeTask] = field(default_factory=list)
    delete_paths: set[str] = field(default_factory=set)
    delete_tuples: set[int] = field(default_factory=set)
    """Identities of delete tuples that are in ``delete_paths`` whole: parts of a node share them,
    and looking through them again for each part would be most of the work."""


class _Bins:
    __slots__ = (
        "_by_node",
        "_by_partition",
        "_fair_bytes",
        "_heap",
        "_open_file_cost_bytes",
        "all",
    )

    def __init__(self, *, count: int, fair_bytes: int, open_file_cost_bytes: int) -> None:
        self.all = [_Bin(number=number) for number in range(count)]
        self._fair_bytes = fair_bytes
        self._open_file_cost_bytes = open_file_cost_bytes
        self._heap = [(0, number) for number in range(count)]
        self._by_partition: dict[Partition, _Bin] = {}
        self._by_node: dict[_Node, _Bin] = {}

    def place(self, task: NodeTask) -> None:
        """Put a task where it costs least, without ruining the balance."""
        chosen, load_bytes = self._choose(task)
        chosen.load_bytes = load_bytes
        chosen.tasks.append(task)
        if id(task.change_deletes) not in chosen.delete_tuples:
            chosen.delete_tuples.add(id(task.change_deletes))
            chosen.delete_paths.update([delete.path for delete in task.change_deletes])
        heapq.heappush(self._heap, (load_bytes, chosen.number))
        self._by_node[_node(task)] = self._by_partition[task.partition] = chosen

    def _choose(self, task: NodeTask) -> tuple[_Bin, int]:
        # Only the last bin of a node or partition is asked: the earlier ones were full.
        near = [self._by_node.get(_node(task)), self._by_partition.get(task.partition)]
        loads: dict[int, int] = {}
        for bin_ in near:
            if bin_ is not None and bin_.number not in loads:
                load_bytes = loads[bin_.number] = self._load_with(bin_, task)
                if load_bytes <= self._fair_bytes:
                    return bin_, load_bytes
        lightest = self._lightest()
        if lightest.number not in loads:
            loads[lightest.number] = self._load_with(lightest, task)
        number = min(loads, key=lambda each: loads[each])
        return self.all[number], loads[number]

    def _lightest(self) -> _Bin:
        # An entry of an earlier load is out of date; the current one is further down.
        while self._heap[0][0] != self.all[self._heap[0][1]].load_bytes:
            heapq.heappop(self._heap)
        return self.all[self._heap[0][1]]

    def _load_with(self, candidate: _Bin, task: NodeTask) -> int:
        """Return the load of a bin after a task, with the deletes that it reads already free."""
        if not task.change_deletes or not candidate.delete_paths:
            return candidate.load_bytes + task.cost_bytes
        read = [file_task.file for file_task in task.data]
        if id(task.change_deletes) not in candidate.delete_tuples:
            read += [d for d in task.change_deletes if d.path not in candidate.delete_paths]
        added_bytes = packing_weight_bytes(read, open_file_cost_bytes=self._open_file_cost_bytes)
        return candidate.load_bytes + added_bytes


def _fair_share_bytes(
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
