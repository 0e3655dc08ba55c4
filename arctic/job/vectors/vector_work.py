"""What a task does that looks deleted keys up in the files that they can be in.

Rules:
    - Kept apart from who shares the work out, as in ``read_task``: a task imports what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from arctic.columns.integers.row_set import RowSet
from arctic.errors import FormatError
from arctic.iceberg.storage.table_io import TableIO
from arctic.job.tasks.open_ahead import opened_ahead
from arctic.mor.request import ReadRequest
from arctic.mor.task_reader import TaskReader
from arctic.mor.touched import Touched
from arctic.scan.task import NodeTask
from arctic.table.files import TableFile


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorWork:
    """What is asked for: the dead rows of every file of some tasks; pickles."""

    tasks: tuple[NodeTask, ...]
    """Each file with exactly the deletes that can touch it."""
    request: ReadRequest
    """Without a filter: what is found out serves other queries too."""
    io: TableIO
    comes_back: bool = False
    """Whether whoever asks does so again and again, as far as can be told."""

    @property
    def files(self) -> list[TableFile]:
        """The files in the order of the answer."""
        return [part.file for task in self.tasks for part in task.data]


def look_up(work: VectorWork) -> list[RowSet]:
    """Return the dead rows of each file, in the order of ``work.files``.

    Raises:
        FormatError: a file that is corrupt, or has another number of rows than is listed.
        StorageError: a file that is missing or cannot be fetched.
    """
    dead = []
    with opened_ahead(work.io, work.tasks) as open_file:
        reader = TaskReader(work.tasks, work.request, open_file, Touched())
        for task in work.tasks:
            loaded = reader.load(task)
            for part in task.data:
                with loaded.open(part) as data:
                    _check_rows(part.file, data.row_count)
                    dead.append(data.dead_rows())
    return dead


def _check_rows(file: TableFile, rows: int) -> None:
    if rows != file.record_count:
        raise FormatError(
            f"file {file.path!r} has {rows:,} rows; expected the {file.record_count:,} that its "
            "manifest lists"
        )
