"""What a task does that looks deleted keys up in the files that they can be in.

Rules:
    - Kept apart from who shares the work out, as in ``read_task``: a task imports what it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arctic.columns.integers.row_set import RowSet
from arctic.errors import FormatError
from arctic.iceberg.storage.table_io import TableIO
from arctic.job.tasks.open_ahead import opened_ahead
from arctic.mor.request import ReadRequest
from arctic.mor.task_reader import TaskReader
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTask
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

    def shares(self, most_rows: int) -> list[VectorWork]:
        """Divide the work, so that the answers together are the answer to all of it.

        Args:
            most_rows: of the files of a share together; one with a single file may exceed it.
        """
        shares: list[list[NodeTask]] = [[]]
        room = most_rows
        for task in self.tasks:
            run: list[FileTask] = []
            for part in task.data:
                if part.file.record_count > room and (run or shares[-1]):
                    shares[-1] += [replace(task, data=tuple(run))] if run else []
                    shares.append([])
                    run, room = [], most_rows
                run.append(part)
                room -= part.file.record_count
            shares[-1].append(replace(task, data=tuple(run)))
        return [replace(self, tasks=tuple(tasks)) for tasks in shares]

    def of_largest(self, most_rows: int) -> VectorWork:
        """Return the work for the files of the most rows that have so many together."""
        rows = [file.record_count for file in self.files]
        chosen, room = set(), most_rows
        # Which they are does not follow from the deletes, so they stay the same while more come.
        for place in sorted(range(len(rows)), key=lambda place: (-rows[place], place)):
            if rows[place] <= room:
                room -= rows[place]
                chosen.add(place)
        tasks, first = [], 0
        for task in self.tasks:
            data = tuple(part for place, part in enumerate(task.data, first) if place in chosen)
            first += len(task.data)
            tasks += [replace(task, data=data)] if data else []
        return replace(self, tasks=tuple(tasks))


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
