"""A heavy node becomes several tasks, each with some of its data files.

Rules:
    - A file is never cut, so a node of one large file stays one task. A node whose inserts are
      folded stays one too: a key may be in each of its files.
    - Each data file goes to exactly one part; each part gets the deletes that can touch it.
    - A node whose deletes weigh too much is left whole: every part would read them again.
    - A node a little heavier than the average is left whole: hashes spread keys, so about half of
      all nodes are.
    - Parts are runs of files in key order, so that deletes of some keys burden few parts: where
      keys rise with time, most updates touch the newest keys only.

Source: amoro BasicKeyedTableScan.split @96a4d781a. Differs: a part keeps its node, and reads
only the deletes that can touch it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arctic.scan.file_order import value_order
from arctic.scan.reach import DeletesByPart, FileRanges
from arctic.scan.rivals import rivals_of
from arctic.scan.task import NodeTask, ScanOptions, ratio_weight_bytes
from arctic.tree.key_range import KeyRange

_NEAR = 0.125
"""So little more than a number of average groups is no reason for a part more."""


def split_tasks(
    tasks: Sequence[NodeTask], *, options: ScanOptions, ranges: FileRanges
) -> tuple[NodeTask, ...]:
    """Divide the tasks that are clearly heavier than the average group will be.

    Returns:
        All tasks in planning order; the parts of one node side by side, in key order.
    """
    average_bytes = average_cost_bytes(tasks, options)
    return tuple(
        part
        for task in tasks
        for part in split_task(
            task,
            cost_avg_bytes=_part_bytes(task.cost_bytes, average_bytes, options.target_bytes),
            weight_ratio=options.weight_ratio,
            open_file_cost_bytes=options.open_file_cost_bytes,
            ranges=ranges,
        )
    )


def _part_bytes(cost_bytes: int, average_bytes: int, target_bytes: int) -> int:
    """Return what a part of a node may weigh: as an average group, or hardly more."""
    count = max(1, math.ceil(cost_bytes / average_bytes - _NEAR))
    return min(math.ceil(cost_bytes / count), target_bytes)


def average_cost_bytes(tasks: Sequence[NodeTask], options: ScanOptions) -> int:
    """Return what a group weighs if all are equal, but at most the target size."""
    total = sum(task.cost_bytes for task in tasks)
    return min(math.ceil(total / options.max_groups), options.target_bytes)


def split_task(
    task: NodeTask,
    *,
    cost_avg_bytes: int,
    weight_ratio: float,
    open_file_cost_bytes: int,
    ranges: FileRanges,
) -> tuple[NodeTask, ...]:
    """Divide one node's data files into ``ceil(cost / cost_avg_bytes)`` parts of like cost.

    Args:
        task: a whole node.
        cost_avg_bytes: a task up to this cost, inclusive, stays whole.
        weight_ratio: so does one whose data weighs at most this many times its deletes.
        open_file_cost_bytes: the least that a file weighs.
        ranges: of the primary key.

    Returns:
        The parts; the task itself where it stays whole.
    """
    if task.folds or task.cost_bytes <= cost_avg_bytes or len(task.data) < 2:
        return (task,)
    if _data_to_deletes(task, open_file_cost_bytes) <= weight_ratio:
        return (task,)
    # Of files with the same least key, the older one stays in front.
    data = sorted(task.data, key=lambda part: _key_order(ranges.of(part.file)))
    costs = [max(part.file.size_bytes, open_file_cost_bytes) for part in data]
    count = min(math.ceil(task.cost_bytes / cost_avg_bytes), len(data))
    files = [part.file for part in data]
    deletes = DeletesByPart(
        task.change_deletes,
        files,
        ranges,
        open_file_cost_bytes=open_file_cost_bytes,
    )
    parts = []
    for number, (start, stop) in enumerate(balanced_runs(costs, count), start=1):
        touching = deletes.touching(start, stop)
        parts.append(
            NodeTask(
                partition=task.partition,
                node=task.node,
                data=tuple(data[start:stop]),
                change_deletes=touching.files,
                rivals=task.rivals and rivals_of(files[start:stop], task.rivals, ranges),
                cost_bytes=sum(costs[start:stop]) + touching.cost_bytes,
                part_number=number,
                part_count=count,
            )
        )
    return tuple(parts)


def balanced_runs(costs: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Cut a sequence into ``count`` runs, none empty, each near the average of what is left.

    >>> balanced_runs([5, 5, 1, 1, 1, 1, 6], 3)
    [(0, 1), (1, 5), (5, 7)]

    Args:
        costs: one for each item.
        count: from 1 to the number of items, inclusive.

    Returns:
        Start and end, exclusive, of each run.
    """
    runs = []
    start, left = 0, sum(costs)
    for runs_left in range(count, 1, -1):
        stop, run_cost = start + 1, costs[start]
        # Another item is taken while that brings the run nearer to its share.
        while len(costs) - stop >= runs_left and (
            2 * (left - run_cost * runs_left) >= costs[stop] * runs_left
        ):
            run_cost += costs[stop]
            stop += 1
        runs.append((start, stop))
        start, left = stop, left - run_cost
    return [*runs, (start, len(costs))]


def _data_to_deletes(task: NodeTask, open_file_cost_bytes: int) -> float:
    if not task.change_deletes:
        return math.inf
    data = ratio_weight_bytes(
        (part.file for part in task.data), open_file_cost_bytes=open_file_cost_bytes
    )
    deletes = ratio_weight_bytes(task.change_deletes, open_file_cost_bytes=open_file_cost_bytes)
    return data / deletes


def _key_order(keys: KeyRange) -> tuple[Any, ...]:
    order: tuple[Any, ...] = ()
    for column in keys.columns:
        order += value_order(column.lower)
    return order
