"""Data files that no delete can touch: their rows are the rows of the table, as they stand.

An engine that reads Parquet faster than a merge may read them itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask, NodeTask, packing_weight_bytes
from arctic.table.filename import has_format_name
from arctic.table.files import FileKind, TableFile
from arctic.tree.key_range import KeyRangeIndex


def set_clean_apart(
    tasks: Sequence[NodeTask],
    *,
    takes_others: bool,
    ranges: FileRanges,
    open_file_cost_bytes: int,
) -> tuple[tuple[NodeTask, ...], tuple[NodeTask, ...]]:
    """Divide tasks into what must be merged and what need not be.

    Args:
        tasks: with every delete that can touch them, and with the bounds of their files.
        takes_others: files of other writers are set apart too.
        ranges: of the primary key.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks to merge, and tasks of clean files without deletes, both in planning order. Each data
        file is in one of them.
    """
    merged: list[NodeTask] = []
    clean: list[NodeTask] = []
    for task in tasks:
        index = KeyRangeIndex([ranges.of(delete) for delete in task.change_deletes])
        is_clean = [
            (takes_others or stands_alone(part.file)) and _is_clean(part, task, index, ranges)
            for part in task.data
        ]
        dirty_data = [part for part, kept in zip(task.data, is_clean, strict=True) if not kept]
        clean_data = [part for part, kept in zip(task.data, is_clean, strict=True) if kept]
        if dirty_data:
            merged.append(cut_task(task, dirty_data, task.change_deletes, open_file_cost_bytes))
        if clean_data:
            clean.append(cut_task(task, clean_data, (), open_file_cost_bytes))
    return tuple(merged), tuple(clean)


def stands_alone(file: TableFile) -> bool:
    """Say whether a file has every column: imported ones may leave their partition columns out."""
    return has_format_name(file.path)


def cut_task(
    task: NodeTask,
    data: Sequence[FileTask],
    deletes: Sequence[TableFile],
    open_file_cost_bytes: int,
) -> NodeTask:
    """Return a task of some of a task's files and deletes, with the cost of these."""
    files = [*(part.file for part in data), *deletes]
    cost = packing_weight_bytes(files, open_file_cost_bytes=open_file_cost_bytes)
    has_inserts = any(part.file.kind is FileKind.INSERT for part in data)
    return replace(
        task,
        data=tuple(data),
        change_deletes=tuple(deletes),
        rivals=task.rivals if has_inserts else (),
        cost_bytes=cost,
    )


def _is_clean(part: FileTask, task: NodeTask, index: KeyRangeIndex, ranges: FileRanges) -> bool:
    if part.position_deletes or task.folds:
        return False
    if task.rivals and part.file.kind is FileKind.INSERT:
        return False
    least = ranges.least_deadly_transaction(part.file)
    touching = index.overlapping(ranges.of(part.file))
    return not any(task.change_deletes[place].transaction_id >= least for place in touching)
