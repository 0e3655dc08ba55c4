"""What one group reads of one node becomes one task.

Parts of a node that were packed into the same group would read the deletes that they share one
after the other; joined, they read them once.

Rules: joining changes no row. A delete that could touch one part only is looked up for the rows
of the other parts too, and finds nothing there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    joined = [_join_group(group, open_file_cost_bytes) for group in groups]
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


def _join_group(tasks: Sequence[NodeTask], open_file_cost_bytes: int) -> list[NodeTask]:
    by_node: dict[tuple[Partition, int], list[NodeTask]] = {}
    for task in tasks:
        by_node.setdefault(_node(task), []).append(task)
    # A delete file that several nodes share stays one object, which pickles once.
    slim: dict[str, KeyedFile] = {}
    joined = [_join(parts, slim, open_file_cost_bytes) for parts in by_node.values()]
    return sorted(joined, key=lambda task: node_order(task.partition, task.node))


def _join(
    parts: Sequence[NodeTask], slim: dict[str, KeyedFile], open_file_cost_bytes: int
) -> NodeTask:
    data = [_slim_data(file_task, slim) for part in parts for file_task in part.data]
    data.sort(key=lambda file_task: age_order(file_task.file))
    deletes: dict[str, KeyedFile] = {}
    # Parts share one tuple where they can: each is looked through once.
    for shared in {id(part.change_deletes): part.change_deletes for part in parts}.values():
        deletes.update((delete.path, _slim(delete, slim)) for delete in shared)
    change_deletes = tuple(sorted(deletes.values(), key=age_order))
    weighed = (*(file_task.file for file_task in data), *change_deletes)
    return replace(
        parts[0],
        data=tuple(data),
        change_deletes=change_deletes,
        cost_bytes=packing_weight_bytes(weighed, open_file_cost_bytes=open_file_cost_bytes),
    )


def _slim_data(task: FileTask, slim: dict[str, KeyedFile]) -> FileTask:
    deletes = tuple(_slim(delete, slim) for delete in task.position_deletes)
    return FileTask(file=_slim(task.file, slim), position_deletes=deletes)


def _slim(file: KeyedFile, slim: dict[str, KeyedFile]) -> KeyedFile:
    if file.path not in slim:
        slim[file.path] = file.without_bounds()
    return slim[file.path]


def _node(task: NodeTask) -> tuple[Partition, int]:
    return (task.partition, task.node.node_id)
