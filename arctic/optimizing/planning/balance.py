"""Putting the tasks of a run into groups, each for one worker."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from arctic.optimizing.optimize_task import OptimizeTask, OptimizeTaskGroup
from arctic.optimizing.settings import OptimizeSettings

_GROUPS_PER_CORE = 4
"""Enough to even out tasks of unlike cost."""


def balance(
    tasks: Sequence[OptimizeTask], *, settings: OptimizeSettings, parallelism: int
) -> tuple[OptimizeTaskGroup, ...]:
    """Put small tasks together, so that no group is heavy and none is hardly worth its start.

    Strategy: number partitioning, sorted greedy: the heaviest task goes first, each to the
    lightest group.
    """
    if not tasks:
        return ()
    total = sum(task.cost_bytes for task in tasks)
    wanted = max(-(-total // settings.max_task_bytes), parallelism * _GROUPS_PER_CORE)
    bins: list[tuple[int, int, list[OptimizeTask]]] = [
        (0, number, []) for number in range(min(wanted, len(tasks)))
    ]
    for task in sorted(tasks, key=lambda task: -task.cost_bytes):
        cost, number, held = bins[0]
        held.append(task)
        heapq.heapreplace(bins, (cost + task.cost_bytes, number, held))
    heaviest = sorted(bins, key=lambda each: (-each[0], each[1]))
    return tuple(
        OptimizeTaskGroup(number=place, tasks=tuple(held), cost_bytes=cost)
        for place, (cost, _, held) in enumerate(heaviest)
    )
