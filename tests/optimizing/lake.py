"""Runs of optimizing on tables of plain Python values, carried out row by row.

``Outcome`` is what both stores hold after a run: rows with where they came from. Its merged view
is worked out by the rules of the format alone, as ``tests.scan.lake`` does for the state before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from arctic.optimizing.optimize_task import OptimizeTask
from arctic.optimizing.planning.partition_files import PartitionFiles, files_by_partition
from arctic.optimizing.planning.plan_run import OptimizePlan, plan_optimize
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.task import FileTask
from arctic.table.files import BASE_FILE_OFFSET, FileKind, Partition, TableFile, Value
from arctic.table.filters.predicate import And, Op, Or, Predicate
from arctic.tree.node_tree import NodeTree
from tests.factories.lsn import Lsn
from tests.factories.tables import columns_of, table_of
from tests.scan.lake import Lake, lsn

SETTINGS: dict[str, str] = {
    "self-optimizing.target-size": "400",
    "self-optimizing.max-task-size-bytes": "600",
}
"""Files of 20 bytes are fragments, of 100 undersized, of 500 of the right size."""
_TREE = NodeTree.uniform(3)
TABLE = table_of(columns_of({"id": "int", "name": "string"}), key=("id", "name"))


def settings_of(**changed: str) -> OptimizeSettings:
    """Return settings for files of a few bytes; ``_`` in a name stands for ``-``, ``__`` for a dot.

    >>> settings_of(target_size="800").target_bytes
    800
    """
    named = {
        f"self-optimizing.{name.replace('__', '.').replace('_', '-')}": text
        for name, text in changed.items()
    }
    return OptimizeSettings.of({**SETTINGS, **named}, {"read.split.open-file-cost": "10"})


def all_settings() -> st.SearchStrategy[OptimizeSettings]:
    """Draw sizes that divide everything, nothing or some, and horizons near and far."""
    return st.builds(
        settings_of,
        target_size=st.sampled_from(["40", "400", "4000"]),
        max_task_size_bytes=st.sampled_from(["1", "200", "600", "100000"]),
        max_file_count=st.sampled_from(["1", "3", "10000"]),
        full__rewrite_all_files=st.sampled_from(["true", "false"]),
    )


def partitions_of(
    lake: Lake, settings: OptimizeSettings, tree: NodeTree = _TREE
) -> tuple[PartitionFiles, ...]:
    """Sort the files of a table into its partitions."""
    return files_by_partition(
        base=lake.base,
        position_deletes=lake.position_deletes,
        change=lake.change,
        snapshot=lake.snapshot,
        max_change_files=settings.max_change_files,
        tree_of=lambda _: tree,
    )


def plan_of(
    lake: Lake,
    settings: OptimizeSettings,
    kinds: Sequence[OptimizeType],
    tree: NodeTree = _TREE,
) -> OptimizePlan:
    """Plan a run, the partitions with these types in turn."""
    partitions = partitions_of(lake, settings, tree)
    return plan_optimize(
        [(files, kinds[number % len(kinds)]) for number, files in enumerate(partitions)],
        table=TABLE,
        settings=settings,
        parallelism=2,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A row of some file after a run."""

    origin: tuple[str, int]
    """Path and position before the run."""
    partition: Partition
    key: tuple[Value, ...]
    lsn: Lsn


def rows_after(lake: Lake, plan: OptimizePlan) -> list[tuple[str, int]]:
    """Carry a plan out and merge what is left; return where each row was before, sorted."""
    horizon = {each.files.partition: each.files.horizon for each in plan.partitions}
    replaced = {
        task.file.path
        for each in plan.partitions
        for task in each.selection.rewrite
        if task.file.kind is FileKind.BASE
    }
    removed = frozenset[str]().union(*(each.removed_paths for each in plan.partitions))
    tasks = [task for group in plan.groups for task in group.tasks]
    marked = {place for task in tasks for place in _deleted(lake, task, task.mark)}
    rows = [row for task in tasks for row in _rewritten(lake, task)]
    left = _without(lake, removed)
    for file in lake.base:
        if file.path not in replaced:
            rows += [
                _kept(file, position, row.key, lsn(file, row))
                for position, row in enumerate(lake.rows[file.path])
                if (file.path, position) not in marked
                and not left.is_deleted_by_position(file, position)
            ]
    unmerged = [
        file for file in lake.unmerged if file.sequence_number > horizon.get(file.partition, 0)
    ]
    for file in unmerged:
        if file.kind is FileKind.INSERT:
            rows += [
                _kept(file, position, row.key, lsn(file, row))
                for position, row in enumerate(lake.rows[file.path])
            ]
    killers = [
        (file.partition, row.key, lsn(file, row))
        for file in unmerged
        if file.kind is FileKind.CHANGE_DELETE
        for row in lake.rows[file.path]
    ]
    return sorted(
        row.origin
        for row in rows
        if not any(
            partition == row.partition and key == row.key and killer > row.lsn
            for partition, key, killer in killers
        )
    )


def _rewritten(lake: Lake, task: OptimizeTask) -> Iterable[Kept]:
    """Return the rows of a task's new base files, which carry its greatest transaction."""
    dead = set(_deleted(lake, task, task.rewrite))
    transaction = max((each.file.transaction_id for each in task.rewrite), default=0)
    for each in task.rewrite:
        for position, row in enumerate(lake.rows[each.file.path]):
            if (each.file.path, position) not in dead and matches(task.row_range, row.key[0]):
                yield _kept(each.file, position, row.key, Lsn(transaction, BASE_FILE_OFFSET))


def _deleted(
    lake: Lake, task: OptimizeTask, files: Iterable[FileTask]
) -> Iterable[tuple[str, int]]:
    """Return the rows that die by the deletes that the task was given."""
    killers = [
        (row.key, lsn(delete, row))
        for delete in task.change_deletes
        for row in lake.rows[delete.path]
    ]
    for each in files:
        path = each.file.path
        for position, row in enumerate(lake.rows[path]):
            by_position = any(
                position in lake.positions[delete.path].get(path, ())
                for delete in each.position_deletes
            )
            stand = lsn(each.file, row)
            if by_position or any(key == row.key and killer > stand for key, killer in killers):
                yield path, position


def matches(predicate: Predicate | None, value: Any) -> bool:
    """Say whether a first key column lies in a range."""
    if predicate is None:
        return True
    if isinstance(predicate, And):
        return all(matches(child, value) for child in predicate.children)
    if isinstance(predicate, Or):
        return any(matches(child, value) for child in predicate.children)
    if predicate.op is Op.IS_NULL:
        return value is None
    if value is None:
        return False
    literal: Any = predicate.literal
    return bool(value >= literal if predicate.op is Op.GE else value < literal)


def _kept(file: TableFile, position: int, key: tuple[Value, ...], stand: Lsn) -> Kept:
    return Kept(origin=(file.path, position), partition=file.partition, key=key, lsn=stand)


def _without(lake: Lake, removed: frozenset[str]) -> Lake:
    return Lake(
        base=lake.base,
        position_deletes=tuple(d for d in lake.position_deletes if d.path not in removed),
        change=lake.change,
        snapshot=lake.snapshot,
        rows=lake.rows,
        positions=lake.positions,
    )
