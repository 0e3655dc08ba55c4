"""What one group reads of one node becomes one task.

Parts of a node that were packed into the same group would read the deletes that they share one
after the other; joined, they read them once.

Rules: joining changes no row. A delete that could touch one part only is looked up for the rows
of the other parts too, and finds nothing there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from arctic.scan.order import age_order, node_order
from arctic.scan.task import FileTask, NodeTask
from arctic.scan.weight import packing_weight_bytes
from arctic.table.files import KeyedFile, Partition


def join_tasks(
    groups: Sequence[Sequence[NodeTask]], *, open_file_cost_bytes: int
) -> list[tuple[NodeTask, ...]]:
    """Join the parts of each node inside each group, and number what remains.

    Args:
        groups: tasks with bounds, in any order.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks without bounds, by group, in planning order.
    """
    deletes = _SharedDeletes(groups)
    joined = [_join_group(group, deletes, open_file_cost_bytes) for group in groups]
    part_counts = Counter(_node(task) for tasks in joined for task in tasks)
    seen: Counter[tuple[Partition, int]] = Counter()
    numbered = []
    for tasks in joined:
        seen.update(map(_node, tasks))
        numbered.append(
            tuple(
                replace(task, part_number=seen[_node(task)], part_count=part_counts[_node(task)])
                for task in tasks
            )
        )
    return numbered


def _join_group(
    tasks: Sequence[NodeTask], deletes: _SharedDeletes, open_file_cost_bytes: int
) -> list[NodeTask]:
    by_node: dict[tuple[Partition, int], list[NodeTask]] = {}
    for task in tasks:
        by_node.setdefault(_node(task), []).append(task)
    joined = [_join(parts, deletes, open_file_cost_bytes) for parts in by_node.values()]
    return sorted(joined, key=lambda task: node_order(task.partition, task.node))


def _join(
    parts: Sequence[NodeTask], deletes: _SharedDeletes, open_file_cost_bytes: int
) -> NodeTask:
    data = [deletes.slim(file_task) for part in parts for file_task in part.data]
    data.sort(key=lambda file_task: age_order(file_task.file))
    change_deletes = deletes.of(parts)
    weighed = (*[file_task.file for file_task in data], *change_deletes)
    return replace(
        parts[0],
        data=tuple(data),
        change_deletes=change_deletes,
        cost_bytes=packing_weight_bytes(weighed, open_file_cost_bytes=open_file_cost_bytes),
    )


class _SharedDeletes:
    """Delete files without bounds: one that several tasks share stays one, and pickles once.

    Change deletes are told apart by identity first: looking into each for each pair of a part and
    a delete would be most of the work.
    """

    __slots__ = ("_by_rank", "_positional", "_ranks")

    def __init__(self, groups: Sequence[Sequence[NodeTask]]) -> None:
        found: dict[int, KeyedFile] = {}
        for shared in _delete_tuples(task for group in groups for task in group):
            found.update(zip(map(id, shared), shared, strict=True))
        by_path = {delete.path: delete for delete in found.values()}
        by_age = sorted(by_path.values(), key=age_order)
        ranks = {delete.path: rank for rank, delete in enumerate(by_age)}
        self._by_rank = [delete.without_bounds() for delete in by_age]
        self._ranks = {number: ranks[delete.path] for number, delete in found.items()}
        self._positional: dict[str, KeyedFile] = {}

    def of(self, parts: Sequence[NodeTask]) -> tuple[KeyedFile, ...]:
        """Return the change deletes of some parts together, the oldest first."""
        ranks: set[int] = set()
        for shared in _delete_tuples(parts):
            ranks.update(map(self._ranks.__getitem__, map(id, shared)))
        return tuple(map(self._by_rank.__getitem__, sorted(ranks)))

    def slim(self, task: FileTask) -> FileTask:
        """Return a data file and its position deletes without bounds."""
        deletes = tuple([self._slim_positional(delete) for delete in task.position_deletes])
        return FileTask(file=task.file.without_bounds(), position_deletes=deletes)

    def _slim_positional(self, delete: KeyedFile) -> KeyedFile:
        found = self._positional.get(delete.path)
        if found is None:
            found = self._positional[delete.path] = delete.without_bounds()
        return found


def _delete_tuples(tasks: Iterable[NodeTask]) -> Iterable[tuple[KeyedFile, ...]]:
    """Return the tasks' deletes; parts share one tuple where they can, and it is given once."""
    return {id(task.change_deletes): task.change_deletes for task in tasks}.values()


def _node(task: NodeTask) -> tuple[Partition, int]:
    return (task.partition, task.node.node_id)
