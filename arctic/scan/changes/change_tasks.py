"""Files of a range of commits become tasks, in which all events of a key stand in their order.

Rules:
    - Files whose nodes overlap go to one task: their keys may be the same. Where a key can change
      its partition, that holds across partitions.
    - In a task the rows of the pinned beginning come first, then one commit after the other.
    - Without change files nothing has to be in order, so the beginning is divided as any read.
    - The same files make the same tasks, in whatever order they arrive.

Source: amoro FlinkSplitPlanner, ShuffleSplitAssigner @96a4d781a. Differs: overlapping nodes are
brought together while planning, and no row is filtered by node afterwards.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from arctic.errors import InternalError
from arctic.scan.assemble import assemble
from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.divide.join import join_tasks
from arctic.scan.divide.split import split_tasks
from arctic.scan.file_order import in_file_order, node_order
from arctic.scan.reach import FileRanges
from arctic.scan.task import NodeTask, ScanOptions
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.merge_engine import MergeEngine
from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeUnit:
    """What one transaction did to the keys of a task."""

    deletes: tuple[TableFile, ...]
    inserts: tuple[TableFile, ...]

    @property
    def transaction_id(self) -> int:
        """The transaction, of all of its files."""
        return (*self.deletes, *self.inserts)[0].transaction_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTask:
    """Rows of the beginning, then changes in the order of their commits."""

    beginning: tuple[NodeTask, ...]
    units: tuple[ChangeUnit, ...]
    cost_bytes: int
    """Sum over all files of max(size, open-file cost)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroup:
    """What one Spark task reads: its tasks, one after the other."""

    tasks: tuple[ChangeTask, ...]


def plan_changes(
    beginning: FilesToRead,
    change: Sequence[TableFile],
    *,
    key_ids: tuple[int, ...],
    ordering_ids: tuple[int, ...],
    engine: MergeEngine,
    keys_move: bool,
    options: ScanOptions,
) -> tuple[ChangeGroup, ...]:
    """Arrange the files of a range of commits.

    Args:
        beginning: files of the merged view of the pinned state.
        change: inserts and change deletes of the commits.
        key_ids: field ids of the primary key; empty for an unkeyed table.
        ordering_ids: field ids of the table's ordering columns; empty: it has none.
        engine: what becomes of the rows of a key.
        keys_move: whether a key can change its partition.
        options: how the read is divided.

    Returns:
        Groups, the heaviest first; none without files.
    """
    ranges = FileRanges(key_ids, ordering_ids, engine)
    cost_bytes = options.open_file_cost_bytes
    nodes, _ = assemble(beginning, ranges=ranges, open_file_cost_bytes=cost_bytes)
    if not change:
        # Nothing follows these rows, so they need no neighbours.
        parts = split_tasks(nodes, options=options, ranges=ranges)
        alone = [_task((part,), (), cost_bytes) for part in parts]
        return _groups(alone, options)
    kin = Kin(
        [*((task.partition, task.node) for task in nodes), *map(_place, change)],
        keys_move=keys_move,
    )
    first: dict[Hashable, list[NodeTask]] = defaultdict(list)
    then: dict[Hashable, list[TableFile]] = defaultdict(list)
    for task in sorted(nodes, key=lambda task: node_order(task.partition, task.node)):
        first[kin.of(task.partition, task.node)].append(task)
    for file in in_file_order(change):
        then[kin.of(*_place(file))].append(file)
    tasks = [
        _task(first[place], then[place], cost_bytes) for place in dict.fromkeys((*first, *then))
    ]
    return _groups(tasks, options)


class Kin:
    """What may hold the same keys: all below one topmost node."""

    def __init__(self, places: Iterable[tuple[Partition, TreeNode]], *, keys_move: bool) -> None:
        self._keys_move = keys_move
        self._present: dict[Partition, set[int]] = defaultdict(set)
        for partition, node in places:
            self._present[self._scope(partition)].add(node.node_id)

    def of(self, partition: Partition, node: TreeNode) -> tuple[Partition, int]:
        """Return what a node has in common with all that overlap it."""
        scope = self._scope(partition)
        present = self._present[scope]
        # The ids go up to the root, so the last one that is present is the topmost.
        return scope, [each for each in node.lineage_ids() if each in present][-1]

    def _scope(self, partition: Partition) -> Partition:
        return () if self._keys_move else partition


def _place(file: TableFile) -> tuple[Partition, TreeNode]:
    return file.partition, file.node


def _task(
    beginning: Sequence[NodeTask], change: Sequence[TableFile], open_file_cost_bytes: int
) -> ChangeTask:
    by_transaction: dict[tuple[int, int], list[TableFile]] = defaultdict(list)
    for file in change:
        by_transaction[file.sequence_number, file.transaction_id].append(file)
    costs = (max(file.size_bytes, open_file_cost_bytes) for file in change)
    return ChangeTask(
        beginning=join_tasks([beginning], open_file_cost_bytes=open_file_cost_bytes)[0],
        units=tuple(_unit(by_transaction[number]) for number in sorted(by_transaction)),
        cost_bytes=sum(task.cost_bytes for task in beginning) + sum(costs),
    )


def _unit(files: Sequence[TableFile]) -> ChangeUnit:
    for file in files:
        if file.kind not in (FileKind.INSERT, FileKind.CHANGE_DELETE):
            raise InternalError(f"file {file.path!r} of kind {file.kind} as a change")
    return ChangeUnit(
        deletes=tuple(file for file in files if file.kind is FileKind.CHANGE_DELETE),
        inserts=tuple(file for file in files if file.kind is FileKind.INSERT),
    )


def _groups(tasks: Sequence[ChangeTask], options: ScanOptions) -> tuple[ChangeGroup, ...]:
    return tuple(ChangeGroup(tasks=chosen) for chosen in packed(tasks, options.max_groups))


class Weighed(Protocol):
    """A task that knows what it costs."""

    @property
    def cost_bytes(self) -> int:
        """What it costs."""


T = TypeVar("T", bound=Weighed)


def packed(tasks: Sequence[T], max_groups: int) -> list[tuple[T, ...]]:
    """Put each task, the heaviest first, to those that are lightest so far."""
    count = min(max_groups, len(tasks))
    bins: list[list[T]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for task in sorted(tasks, key=lambda task: -task.cost_bytes):
        load, number = heapq.heappop(loads)
        bins[number].append(task)
        heapq.heappush(loads, (load + task.cost_bytes, number))
    return [tuple(chosen) for chosen in bins]
