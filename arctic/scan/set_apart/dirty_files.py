"""Data files that hold dead rows, for an engine that can leave rows out by their number.

Which rows of a file are dead is a bit for each of them: a deletion vector. To make it takes the
file's key columns and no others; the rest of the file is then read as if no delete could touch it.

Rules:
    - The files of one task have exactly the same deletes, and none that cannot touch them: what was
      found out for a file stays true while more deletes come.
    - Inserts that rows of base can outdo are merged: what is in base changes without a delete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from arctic.scan.reach import FileRanges
from arctic.scan.set_apart.clean_files import cut_task, stands_alone
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind, TableFile
from arctic.tree.key_range import KeyRangeIndex

MAX_PAIRS = 500_000
"""Of a file and a delete that can touch it. A merge deals deletes out to runs of files and never
looks at single pairs, so it takes over where there are more."""
ROWS_OF_A_FILE = 7_000
"""A merge reads small files together; another engine opens each, which takes as much as to merge
so many rows."""
ROWS_OF_A_MERGE = 100_000
"""That a merge is run in another process than the engine's takes as much as so many rows."""
ROWS_OF_BOTH = 600_000
"""To look up dead rows of some files and merge the others beside them takes as much as so many."""


def set_dirty_apart(
    tasks: Sequence[NodeTask],
    *,
    least_rows: int | None,
    takes_others: bool,
    ranges: FileRanges,
    open_file_cost_bytes: int,
) -> tuple[tuple[NodeTask, ...], tuple[NodeTask, ...]]:
    """Divide tasks into what must be merged and what can be read by row numbers.

    Args:
        tasks: with every delete that can touch them, and with the bounds of their files.
        least_rows: with fewer rows in such files nothing is set apart; None: what is cheapest, all
            of them, the large ones or none.
        takes_others: files of other writers are set apart too.
        ranges: of the primary key.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks to merge, and tasks to read by row numbers, both in planning order. Each data file is
        in one of them.
    """
    found: list[_Dirty] = []
    pairs = 0
    for number, task in enumerate(tasks):
        index = KeyRangeIndex([ranges.of(delete) for delete in task.change_deletes])
        for part in task.data:
            is_whole = takes_others or stands_alone(part.file)
            if is_whole and _dies_by_deletes_alone(part.file, ranges):
                touching = _touching(part.file, task, index, ranges)
                found.append(_Dirty(task=number, part=part, touching=touching))
                pairs += len(touching)
                if pairs > MAX_PAIRS:
                    return tuple(tasks), ()
    if least_rows is None:
        found = _cheapest(found)
    elif sum(each.rows for each in found) < least_rows:
        found = []
    if not found:
        return tuple(tasks), ()
    apart: dict[int, list[_Dirty]] = defaultdict(list)
    for each in found:
        apart[each.task].append(each)
    merged: list[NodeTask] = []
    dirty: list[NodeTask] = []
    for number, task in enumerate(tasks):
        by_deletes: dict[tuple[int, ...], list[FileTask]] = {}
        for each in apart[number]:
            by_deletes.setdefault(each.touching, []).append(each.part)
        paths = {each.part.file.path for each in apart[number]}
        other = [part for part in task.data if part.file.path not in paths]
        if other:
            merged.append(cut_task(task, other, task.change_deletes, open_file_cost_bytes))
        dirty += [
            cut_task(
                task, data, [task.change_deletes[place] for place in touching], open_file_cost_bytes
            )
            for touching, data in by_deletes.items()
        ]
    return tuple(merged), tuple(dirty)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dirty:
    """A file that can be read by row numbers."""

    task: int
    part: FileTask
    touching: tuple[int, ...]
    """The deletes of its task that can kill a row of it."""

    @property
    def rows(self) -> int:
        return self.part.file.record_count


def _cheapest(found: list[_Dirty]) -> list[_Dirty]:
    """Return which files cost least to set apart, with what the merge of the others costs."""
    rows = sum(each.rows for each in found)
    large = [each for each in found if each.rows > ROWS_OF_A_FILE]
    small_rows = rows - sum(each.rows for each in large)
    costs: tuple[tuple[int, list[_Dirty]], ...] = (
        (ROWS_OF_A_FILE * len(found), found),
        (ROWS_OF_A_MERGE + rows, []),
        (ROWS_OF_A_FILE * len(large) + ROWS_OF_A_MERGE + small_rows + ROWS_OF_BOTH, large),
    )
    return min(costs, key=lambda cost: cost[0])[1]


def _dies_by_deletes_alone(file: TableFile, ranges: FileRanges) -> bool:
    return not (ranges.weighs_rows and file.kind is FileKind.INSERT)


def _touching(
    file: TableFile, task: NodeTask, index: KeyRangeIndex, ranges: FileRanges
) -> tuple[int, ...]:
    """Return which of a task's change deletes can kill a row of a file, ascending."""
    least = ranges.least_deadly_transaction(file)
    near = index.all_overlapping(ranges.of(file))
    deletes = task.change_deletes
    return tuple(sorted([place for place in near if deletes[place].transaction_id >= least]))
