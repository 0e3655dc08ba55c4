"""What one group reads of one node becomes one task.

Parts of a node that were packed into the same group would read the deletes that they share one
after the other; joined, they read them once.

Rules:
    - Joining changes no row. A delete that could touch one part only is looked up for the rows of
      the other parts too, and finds nothing there.
    - A file is one record in all tasks, so identity tells files apart, and a pickle holds it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from arctic.scan.file_order import age_order, node_order
from arctic.scan.task import FileTask, NodeTask, packing_weight_bytes
from arctic.table.files import Partition, TableFile

_Node = tuple[Partition, int, bool]
"""With whether its inserts are folded: they are a task of their own."""

_data_order = attrgetter("file.transaction_id", "file.sequence_number", "file.path")
"""``age_order`` of a data file's task."""


def join_tasks(
    groups: Sequence[Sequence[NodeTask]], *, open_file_cost_bytes: int
) -> list[tuple[NodeTask, ...]]:
    """Join the parts of each node inside each group, and number what remains.

    Args:
        groups: tasks in any order.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks by group, in planning order.
    """
    nodes_of_groups = [_parts_by_node(group) for group in groups]
    part_counts = Counter(node for nodes in nodes_of_groups for node in nodes)
    seen: Counter[_Node] = Counter()
    joined = []
    for nodes in nodes_of_groups:
        seen.update(nodes.keys())
        joined.append(
            tuple(
                [
                    _join(
                        parts,
                        part_number=seen[node],
                        part_count=part_counts[node],
                        open_file_cost_bytes=open_file_cost_bytes,
                    )
                    for node, parts in nodes.items()
                ]
            )
        )
    return joined


def _parts_by_node(group: Sequence[NodeTask]) -> dict[_Node, list[NodeTask]]:
    by_node: dict[_Node, list[NodeTask]] = {}
    for task in sorted(group, key=lambda task: node_order(task.partition, task.node)):
        by_node.setdefault((task.partition, task.node.node_id, task.folds), []).append(task)
    return by_node


def _join(
    parts: Sequence[NodeTask], *, part_number: int, part_count: int, open_file_cost_bytes: int
) -> NodeTask:
    first = parts[0]
    data = [file_task for part in parts for file_task in part.data]
    data.sort(key=_data_order)
    deletes, cost_bytes = first.change_deletes, first.cost_bytes
    if len(parts) > 1:
        deletes = _all_deletes(parts)
        weighed = (*[file_task.file for file_task in data], *deletes)
        cost_bytes = packing_weight_bytes(weighed, open_file_cost_bytes=open_file_cost_bytes)
    return NodeTask(
        partition=first.partition,
        node=first.node,
        data=tuple(data),
        change_deletes=deletes,
        rivals=first.rivals if len(parts) == 1 else _all_rivals(parts),
        folds=first.folds,
        cost_bytes=cost_bytes,
        part_number=part_number,
        part_count=part_count,
    )


def _all_rivals(parts: Sequence[NodeTask]) -> tuple[FileTask, ...]:
    found = {rival.file.path: rival for part in parts for rival in part.rivals}
    return tuple(sorted(found.values(), key=_data_order))


def _all_deletes(parts: Sequence[NodeTask]) -> tuple[TableFile, ...]:
    """Return the change deletes of some parts together, the oldest first."""
    tuples = list({id(part.change_deletes): part.change_deletes for part in parts}.values())
    if len(tuples) == 1:
        return tuples[0]
    found: dict[int, TableFile] = {}
    for deletes in tuples:
        found.update(zip(map(id, deletes), deletes, strict=True))
    return tuple(sorted(found.values(), key=age_order))
