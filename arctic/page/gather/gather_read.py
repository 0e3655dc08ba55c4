"""The plan of a read, as far as a page can show it."""

from __future__ import annotations

from arctic.page.facts.read_facts import ReadFacts, ReadFile, ReadGroup, ReadTask
from arctic.scan.explain import KIND_NAMES, explain_plan
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.read_summary import summed_up
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup
from arctic.table.files import Partition, TableFile

MOST_GROUPS = 20
MOST_TASKS = 20
"""Of one group."""
MOST_FILES = 12
"""Of one kind in one task."""


def gather_read(plan: ScanPlan) -> ReadFacts:
    """Return what a read opens, applies and leaves out."""
    return ReadFacts(
        summary=summed_up(plan),
        unopened_manifests=plan.pruned.manifests,
        detached_pairs=plan.pruned.pairs_by_lsn + plan.pruned.pairs_by_key_range,
        groups=tuple(
            _group(number, group) for number, group in enumerate(plan.groups[:MOST_GROUPS])
        ),
        unlisted=max(0, len(plan.groups) - MOST_GROUPS),
        text=explain_plan(plan),
    )


def _group(number: int, group: NodeTaskGroup) -> ReadGroup:
    return ReadGroup(
        number=number,
        cost_bytes=group.cost_bytes,
        tasks=tuple(_task(task) for task in group.tasks[:MOST_TASKS]),
        unlisted=max(0, len(group.tasks) - MOST_TASKS),
    )


def _task(task: NodeTask) -> ReadTask:
    listed = (task.data[:MOST_FILES], task.change_deletes[:MOST_FILES])
    return ReadTask(
        partition=_partition(task.partition),
        node_id=task.node.node_id,
        part=f"{task.part_number} of {task.part_count}" if task.part_count > 1 else "",
        cost_bytes=task.cost_bytes,
        data=tuple(_data(part) for part in listed[0]),
        deletes=tuple(_file(each) for each in listed[1]),
        unlisted=len(task.data) + len(task.change_deletes) - len(listed[0]) - len(listed[1]),
    )


def _data(part: FileTask) -> ReadFile:
    return _file(part.file, position_deletes=len(part.position_deletes))


def _file(file: TableFile, *, position_deletes: int = 0) -> ReadFile:
    return ReadFile(
        kind=KIND_NAMES[file.kind],
        name=file.path.rsplit("/", 1)[-1],
        size_bytes=file.size_bytes,
        rows=file.record_count,
        position_deletes=position_deletes,
    )


def _partition(partition: Partition) -> str:
    return ", ".join(repr(value) for value in partition)
