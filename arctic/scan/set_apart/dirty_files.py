"""Data files that hold dead rows, for an engine that can leave rows out by their number.

Which rows of a file are dead is a bit for each of them: a deletion vector. To make it takes the
file's key columns and no others; the rest of the file is then read as if no delete could touch it.

Rules:
    - The files of one task have exactly the same deletes, and none that cannot touch them: what was
      found out for a file stays true while more deletes come.
    - Inserts that rows of base can outdo are merged: what is in base changes without a delete.
"""

from __future__ import annotations

from collections.abc import Sequence

from arctic.scan.reach import FileRanges
from arctic.scan.set_apart.clean_files import cut_task, stands_alone
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind, TableFile
from arctic.tree.key_range import KeyRangeIndex

MAX_PAIRS = 500_000
"""Of a file and a delete that can touch it. A merge deals deletes out to runs of files and never
looks at single pairs, so it takes over where there are more."""
MAX_ROWS = 128 * 2**20
"""Of all dirty files together: 16 MiB of bits, in each task; in the driver some ten times that,
while they pass from one process to the other."""


def set_dirty_apart(
    tasks: Sequence[NodeTask],
    *,
    least_rows: int,
    ranges: FileRanges,
    open_file_cost_bytes: int,
) -> tuple[tuple[NodeTask, ...], tuple[NodeTask, ...]]:
    """Divide tasks into what must be merged and what can be read by row numbers.

    Args:
        tasks: with every delete that can touch them, and with the bounds of their files.
        least_rows: with fewer rows in such files nothing is set apart.
        ranges: of the primary key.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks to merge, and tasks to read by row numbers, both in planning order. Each data file is
        in one of them.
    """
    merged: list[NodeTask] = []
    dirty: list[NodeTask] = []
    pairs = rows = 0
    for task in tasks:
        wanted = [part for part in task.data if _dies_by_deletes_alone(part.file, ranges)]
        other = [part for part in task.data if not _dies_by_deletes_alone(part.file, ranges)]
        if other:
            merged.append(cut_task(task, other, task.change_deletes, open_file_cost_bytes))
        index = KeyRangeIndex([ranges.of(delete) for delete in task.change_deletes])
        by_deletes: dict[tuple[int, ...], list[FileTask]] = {}
        for part in wanted:
            touching = _touching(part.file, task, index, ranges)
            by_deletes.setdefault(touching, []).append(part)
            pairs += len(touching)
            rows += part.file.record_count
            if pairs > MAX_PAIRS or rows > MAX_ROWS:
                return tuple(tasks), ()
        dirty += [
            cut_task(
                task, data, [task.change_deletes[place] for place in touching], open_file_cost_bytes
            )
            for touching, data in by_deletes.items()
        ]
    if rows < least_rows:
        return tuple(tasks), ()
    return tuple(merged), tuple(dirty)


def _dies_by_deletes_alone(file: TableFile, ranges: FileRanges) -> bool:
    return stands_alone(file) and not (ranges.weighs_rows and file.kind is FileKind.INSERT)


def _touching(
    file: TableFile, task: NodeTask, index: KeyRangeIndex, ranges: FileRanges
) -> tuple[int, ...]:
    """Return which of a task's change deletes can kill a row of a file, ascending."""
    least = ranges.least_deadly_transaction(file)
    near = index.all_overlapping(ranges.of(file))
    deletes = task.change_deletes
    return tuple(sorted([place for place in near if deletes[place].transaction_id >= least]))
