"""How many rows a read returns at most, by what its files say that they hold."""

from __future__ import annotations

from collections.abc import Iterable

from arctic.job.read.scan_job import ScanJob
from arctic.scan.changes.change_tasks import ChangeGroup
from arctic.scan.changes.difference_tasks import DifferenceGroup
from arctic.scan.task import NodeTask, NodeTaskGroup


def most_rows(job: ScanJob) -> int:
    """Return the rows of a read of a table, or of what became of its rows, at most."""
    return sum(map(_rows_of, job.groups))


def _rows_of(group: NodeTaskGroup | ChangeGroup | DifferenceGroup) -> int:
    if isinstance(group, NodeTaskGroup):
        return _held(group.tasks)
    if isinstance(group, DifferenceGroup):
        return sum(_held((*task.before, *task.after)) for task in group.tasks)
    # Of the rows of before, each delete tells one.
    changed = [
        file.record_count
        for task in group.tasks
        for unit in task.units
        for file in (*unit.deletes, *unit.inserts)
    ]
    return sum(changed) + sum(_held(task.beginning) for task in group.tasks if not task.units)


def _held(nodes: Iterable[NodeTask]) -> int:
    return sum(each.file.record_count for node in nodes for each in node.data)
