"""Node tasks become groups of like cost, one group for each Spark task.

Strategy: number partitioning, sorted greedy. The heaviest task goes first, each to the bin that
is lightest. A bin that already reads the same node, or else the same partition, is preferred as
long as it stays within its fair share: change deletes that tasks of a group share are read once.

Law: no group is heavier than the fair share plus the heaviest task.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arctic.scan.order import file_order, node_order
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup, ScanOptions
from arctic.scan.weight import packing_weight_bytes
from arctic.table.files import ColumnBounds, KeyedFile, Partition


def pack_tasks(tasks: Sequence[NodeTask], *, options: ScanOptions) -> tuple[NodeTaskGroup, ...]:
    """Distribute tasks over at most ``options.max_groups`` groups.

    Returns:
        Groups with the heaviest first, so that a long one does not start last. Files in them
        have no bounds any more: planning was their only use.
    """
    if not tasks:
        return ()
    bins = _Bins(
        count=min(options.max_groups, len(tasks)),
        total_bytes=sum(task.cost_bytes for task in tasks),
        open_file_cost_bytes=options.open_file_cost_bytes,
    )
    for task in sorted(tasks, key=lambda task: (-task.cost_bytes, *_task_order(task))):
        bins.place(task)
    groups = [_group(filled) for filled in bins.all if filled.tasks]
    return tuple(
        sorted(groups, key=lambda group: (-group.cost_bytes, *_task_order(group.tasks[0])))
    )


@dataclass(slots=True, kw_only=True)
class _Bin:
    """A group in the making; never leaves this module."""

    number: int
    load_bytes: int = 0
    tasks: list[NodeTask] = field(default_factory=list)
    delete_paths: set[str] = field(default_factory=set)


class _Bins:
    __slots__ = (
        "_by_node",
        "_by_partition",
        "_fair_bytes",
        "_heap",
        "_open_file_cost_bytes",
        "all",
    )

    def __init__(self, *, count: int, total_bytes: int, open_file_cost_bytes: int) -> None:
        self.all = [_Bin(number=number) for number in range(count)]
        self._fair_bytes = math.ceil(total_bytes / count)
        self._open_file_cost_bytes = open_file_cost_bytes
        self._heap = [(0, number) for number in range(count)]
        self._by_partition: dict[Partition, _Bin] = {}
        self._by_node: dict[tuple[Partition, int], _Bin] = {}

    def place(self, task: NodeTask) -> None:
        """Put a task where it costs least, without ruining the balance."""
        node = (task.partition, task.node.node_id)
        lightest = self._lightest()
        chosen, load_bytes = lightest, self._load_with(lightest, task)
        # Only the last bin of a node or partition is asked: the earlier ones were full.
        for near in (self._by_node.get(node), self._by_partition.get(task.partition)):
            if near is None:
                continue
            near_load_bytes = self._load_with(near, task)
            if near_load_bytes <= max(self._fair_bytes, load_bytes):
                chosen, load_bytes = near, near_load_bytes
                break
        chosen.load_bytes = load_bytes
        chosen.tasks.append(task)
        chosen.delete_paths.update(delete.path for delete in task.change_deletes)
        heapq.heappush(self._heap, (load_bytes, chosen.number))
        self._by_node[node] = self._by_partition[task.partition] = chosen

    def _lightest(self) -> _Bin:
        # An entry of an earlier load is out of date; the current one is further down.
        while self._heap[0][0] != self.all[self._heap[0][1]].load_bytes:
            heapq.heappop(self._heap)
        return self.all[self._heap[0][1]]

    def _load_with(self, candidate: _Bin, task: NodeTask) -> int:
        shared = (d for d in task.change_deletes if d.path in candidate.delete_paths)
        return (
            candidate.load_bytes
            + task.cost_bytes
            - packing_weight_bytes(shared, open_file_cost_bytes=self._open_file_cost_bytes)
        )


def _task_order(task: NodeTask) -> tuple[Any, ...]:
    return (
        *node_order(task.partition, task.node),
        task.part_number,
        file_order(task.data[0].file),
    )


def _group(filled: _Bin) -> NodeTaskGroup:
    slim: dict[str, KeyedFile] = {}
    tasks = sorted(filled.tasks, key=_task_order)
    return NodeTaskGroup(
        tasks=tuple(_without_bounds(task, slim) for task in tasks), cost_bytes=filled.load_bytes
    )


_NO_BOUNDS: Mapping[int, ColumnBounds] = {}


def _without_bounds(task: NodeTask, slim: dict[str, KeyedFile]) -> NodeTask:
    def slimmed(file: KeyedFile) -> KeyedFile:
        # A file that several tasks share stays one object, which pickles once.
        if file.path not in slim:
            slim[file.path] = replace(file, bounds=_NO_BOUNDS)
        return slim[file.path]

    return replace(
        task,
        data=tuple(
            FileTask(
                file=slimmed(part.file),
                position_deletes=tuple(slimmed(delete) for delete in part.position_deletes),
            )
            for part in task.data
        ),
        change_deletes=tuple(slimmed(delete) for delete in task.change_deletes),
    )
