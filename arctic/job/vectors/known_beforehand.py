"""Dead rows of large files that are known before a read in this process begins.

Strategy: whoever reads a table again meets the same files, and mostly the same deletes. A read of
all rows looks the deletes up in the key columns alone, which takes as long as to merge, and a bit
for each row is remembered; those after it read no delete and no key of such files, and after a
write only its deletes are looked up. Files that are not on this machine, or are read through a
cache, are merged by the first read, because each is opened once more to be looked into, and looked
into by the second. A read that wants a part of the rows uses what is known, and looks up nothing.
Each group is asked about when it is read: the first rows come before the last are looked into.

Rules:
    - Rows are the same without it; their order need not be.
    - Small files are merged as ever: they are read together, which costs less than to leave rows
      out of each. So is a table whose rows live or die by more than deletes.

Memory: ``deletion_vectors.REMEMBERED_BYTES``, and while the deletes of a group are looked up what
that states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from arctic.columns.integers.row_set import RowSet
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.storage.table_io import TableIO
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.vectors.deletion_vectors import DeletionVectors
from arctic.job.vectors.vector_work import VectorWork
from arctic.last_used import LastUsed
from arctic.mor.request import ReadRequest
from arctic.scan.set_apart.clean_files import stands_alone
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup

LEAST_ROWS = 16_384
"""Of a file; smaller ones are merged."""
_MOST_READ = 100_000
"""Groups that are known to be read by this process."""
_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBeforehand:
    """What is left to read."""

    group: NodeTaskGroup
    """The rows that were asked for; without deletes of the files whose dead rows are known."""
    dead: Mapping[str, RowSet] = field(default_factory=dict)
    """The rows to leave out of these files, by their paths."""


class DeadBeforehand:
    """Tells them, and remembers; safe for threads and forks."""

    def __init__(self, least_rows: int = LEAST_ROWS) -> None:
        self._least_rows = least_rows
        self._vectors = DeletionVectors()
        self._read: LastUsed[str, bool] = LastUsed()

    def of(
        self,
        group: NodeTaskGroup,
        request: ReadRequest,
        io: TableIO,
        *,
        wants_all: bool,
    ) -> KnownBeforehand:
        """Return what is left to read of a group.

        Args:
            group: of a plan.
            request: the read.
            io: opens the files.
            wants_all: whether every row is going to be read.

        Raises:
            FormatError: a file that is corrupt, or has another number of rows than is listed.
            StorageError: a file that is missing or cannot be fetched.
        """
        large = self._large(group.tasks) if request.dies_by_deletes_alone else []
        if not large:
            return KnownBeforehand(group=group)
        bare = replace(request, schema=_NO_COLUMNS, row_filter=None, among=None)
        work = VectorWork(tasks=tuple(large), request=bare, io=io)
        is_whole = wants_all and request.row_filter is None and request.among is None
        is_near = is_local(io.location) and io.cache is None
        found: Sequence[RowSet | None]
        if is_whole and (is_near or self._was_read(work)):
            found = self._vectors.dead_rows(work, LocalRunner(1))
        else:
            found = self._vectors.known_rows(work)
        dead = {
            file.path: rows
            for file, rows in zip(work.files, found, strict=True)
            if rows is not None
        }
        if not dead:
            return KnownBeforehand(group=group)
        left = replace(group, tasks=_divided(group.tasks, dead))
        return KnownBeforehand(group=left, dead=dead)

    def _large(self, tasks: Sequence[NodeTask]) -> list[NodeTask]:
        """Return the tasks whose deletes may be looked up, each with its large files alone."""
        found = []
        for task in tasks:
            if task.change_deletes and not task.rivals and not task.folds:
                data = [part for part in task.data if self._is_large(part)]
                found += [replace(task, data=tuple(data))] if data else []
        return found

    def _is_large(self, part: FileTask) -> bool:
        return part.file.record_count >= self._least_rows and stands_alone(part.file)

    def _was_read(self, work: VectorWork) -> bool:
        """Say whether the group was read before, from now on that it was: by its largest file."""
        largest = max(work.files, key=lambda file: (file.record_count, file.path)).path
        was_read = self._read.get(largest) is not None
        self._read.put(largest, True, weight=1, most=_MOST_READ)
        return was_read


DEAD_BEFOREHAND = DeadBeforehand()
"""Of this process."""


def _divided(tasks: Sequence[NodeTask], dead: Mapping[str, RowSet]) -> tuple[NodeTask, ...]:
    """Return tasks that merge what is not known, and read the rest by row numbers."""
    divided: list[NodeTask] = []
    for task in tasks:
        known = [part for part in task.data if part.file.path in dead]
        other = tuple([part for part in task.data if part.file.path not in dead])
        if known:
            data = tuple([replace(part, position_deletes=()) for part in known])
            divided.append(replace(task, data=data, change_deletes=()))
        if other:
            divided.append(replace(task, data=other))
    return tuple(divided)
