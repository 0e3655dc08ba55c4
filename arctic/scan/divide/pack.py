"""Node tasks become groups of like cost, one group for each Spark task.

Strategy: number partitioning, sorted greedy. The heaviest task goes first, each to the bin that
is lightest. A bin that already reads the same node, or else the same partition, is preferred as
long as it stays within its fair share: change deletes that tasks of a group share are read once.
Parts of one node go one after the other, so that neighbours in key order meet in one group.

Law: no group is heavier than the average, shared deletes counted for each task, plus the heaviest
task.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arctic.scan.divide.fair_share import fair_share_bytes
from arctic.scan.divide.join import join_tasks
from arctic.scan.file_order import node_order
from arctic.scan.task import NodeTask, NodeTaskGroup, ScanOptions
from arctic.scan.weight import packing_weight_bytes
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
    fair_bytes = fair_share_bytes(tasks, group_count=count, open_file_cost_bytes=cost_bytes)
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
