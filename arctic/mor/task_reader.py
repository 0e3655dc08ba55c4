"""The deletes of one node task, loaded; then its data files in any order, by row groups.

Strategy: change deletes come in pieces that fit in memory. All pieces but the last are looked up
at once, in the key columns of every data file, and leave a bit for each row that they kill; the
last one stays and is looked up while rows are read.

Where rows of a key are held against one another, inserts also die by what is merged already, which
the index of their deletes is told: see ``outdone``.

Rules:
    - What tasks of a group share is read once: position deletes, and the change deletes of
      neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from arctic.columns.integers.distinct import distinct
from arctic.columns.integers.integer_index import IntArray
from arctic.columns.integers.row_set import RowSet
from arctic.errors import FormatError, InternalError
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes.change_deletes import DeletePiece, delete_pieces
from arctic.mor.deletes.delete_files import KeptDeletes
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.position_deletes import PositionDeletes
from arctic.mor.deletes.sought_keys import SoughtKeys
from arctic.mor.folding.folded_inserts import FoldedInserts
from arctic.mor.outdone import take_rivals
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.small_files import JoinedFiles, SmallFiles, asks_for_facts, is_small
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind


def delete_paths(task: NodeTask) -> tuple[str, ...]:
    """Return what tells whether two tasks have the same change deletes."""
    return tuple(file.path for file in task.change_deletes)


class TaskReader:
    """Holds what the tasks of a group share."""

    def __init__(
        self,
        tasks: Sequence[NodeTask],
        request: ReadRequest,
        open_file: OpenFile,
        touched: Touched,
        kept: KeptDeletes | None = None,
        dead: Mapping[str, RowSet] = MappingProxyType({}),
    ) -> None:
        self._kept = KeptDeletes() if kept is None else kept
        self._dead = dead
        self._request = request
        self._open_file = open_file
        self._touched = touched
        self._positions = PositionDeletes(tasks, request, open_file)
        self._cached: tuple[tuple[str, ...], DeleteIndex] | None = None

    def load(self, task: NodeTask) -> LoadedTask:
        """Load the deletes of one task of the group.

        Raises:
            FormatError: a delete file that is corrupt, or lacks what it must have.
            StorageError: a file that is missing or cannot be fetched.
            InternalError: a task that no plan makes.
        """
        request, open_file = self._request, self._open_file
        _check(task, request)
        folded: FoldedInserts | None = None
        looked_up = task.data
        if task.folds:
            folded = FoldedInserts(task, request, open_file, self._touched, self._positions)
            looked_up = tuple(part for part in task.data if part.file.kind is FileKind.BASE)
        last: DeleteIndex | None = None
        in_pieces = False
        paths = (part.file.path for part in task.data)
        dead = {path: self._dead[path] for path in paths if path in self._dead}
        settled: Collection[str] = ()
        for piece in self._pieces(task) if looked_up else ():
            if task.rivals and not task.folds:
                known = take_rivals(task, piece.index, request, open_file, self._positions)
                settled = known.keys()
                for path, rows in known.items():
                    dead[path] = dead[path] | rows if path in dead else rows
            if piece.is_last:
                last = piece.index
            else:
                in_pieces = True
                self._remember(looked_up, piece.index, dead, settled)
            del piece  # before the next one is loaded: memory is bounded for one
        if last is not None and not in_pieces:
            self._cached = (delete_paths(task), last)
        among = request.among
        return LoadedTask(
            request,
            open_file,
            self._touched,
            self._positions,
            dead,
            last,
            settled,
            folded,
            None if among is None else SoughtKeys(request, among, task.node, last),
        )

    def _pieces(self, task: NodeTask) -> Iterable[DeletePiece]:
        if not task.change_deletes:
            return ()
        if self._cached is not None and self._cached[0] == delete_paths(task):
            return (DeletePiece(self._cached[1], is_last=True),)
        self._cached = None
        return delete_pieces(
            task.change_deletes, self._request, self._open_file, self._touched, self._kept
        )

    def _remember(
        self,
        data: Sequence[FileTask],
        index: DeleteIndex,
        dead: dict[str, RowSet],
        settled: Collection[str],
    ) -> None:
        """Look up the keys of data in some of the deletes, without reading the payload."""
        for file in (part.file for part in data if part.file.path not in settled):
            with DataFileReader(file, self._request, self._open_file, self._touched) as reader:
                rows = dead.setdefault(file.path, RowSet(reader.row_count))
                for killed in reader.killed_rows(index):
                    rows.add(killed)


class LoadedTask:
    """A task whose deletes are in memory."""

    def __init__(
        self,
        request: ReadRequest,
        open_file: OpenFile,
        touched: Touched,
        positions: PositionDeletes,
        dead: dict[str, RowSet],
        last: DeleteIndex | None,
        settled: Collection[str],
        folded: FoldedInserts | None,
        sought: SoughtKeys | None,
    ) -> None:
        self._folded = folded
        self._sought = sought
        self._request = request
        self._open_file = open_file
        self._touched = touched
        self._positions = positions
        self._dead = dead
        self._last = last
        self._settled = frozenset(settled)
        is_plain = folded is None and not dead and not self._settled
        self._may_join = is_plain and not asks_for_facts(request)

    def rows_of(self, file_task: FileTask) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one of the task's data files that match and are deleted by nothing.

        Inserts that are folded leave all with the first of them.
        """
        if self._folded is not None and file_task.file.kind is FileKind.INSERT:
            yield from self._folded.rows_of(file_task)
            return
        with self.open(file_task) as data:
            yield from data.survivors()

    def is_small(self, file_task: FileTask) -> bool:
        """Say whether a data file may be read together with its neighbours."""
        return (
            self._may_join
            and (self._last is None or file_task.file.kind is FileKind.INSERT)
            and is_small(file_task, self._request)
        )

    def rows_of_many(self, files: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of neighbouring small data files that match and are deleted by nothing."""
        small = SmallFiles(self._request, self._open_file, self._touched, self._last)
        for joined in small.joined(files):
            yield from self._together(small, joined)

    def _together(self, small: SmallFiles, joined: JoinedFiles) -> Iterator[pa.RecordBatch]:
        try:
            if not joined.is_wide:
                return iter((small.survivors(joined),))
        except FormatError:
            pass  # The file is to be named.
        return chain.from_iterable(map(self.rows_of, joined.files))

    def open(self, file_task: FileTask) -> LoadedFile:
        """Open one of the task's data files; to be used as a context manager."""
        if self._folded is not None and file_task.file.kind is FileKind.INSERT:
            raise InternalError(f"file {file_task.file.path!r} is folded, so it has no rows itself")
        path, deletes = file_task.file.path, file_task.position_deletes
        sought = self._sought
        request = self._request if sought is None else sought.request_for(file_task.file)
        data = DataFileReader(file_task.file, request, self._open_file, self._touched)
        try:
            positions = self._positions.rows(path, deletes, data.few_rows)
        except BaseException:
            data.close()
            raise
        last = None if path in self._settled else self._last
        return LoadedFile(data, positions, self._dead.get(path), last)

    def open_stored(self, file_task: FileTask) -> DataFileReader:
        """Open one of the task's data files as it is stored: nothing is deleted, nor folded."""
        return DataFileReader(file_task.file, self._request, self._open_file, self._touched)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFile:
    """A data file that is open, with the deletes of its rows."""

    data: DataFileReader
    positions: IntArray
    dead: RowSet | None
    last: DeleteIndex | None

    def __enter__(self) -> LoadedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.data.close()

    @property
    def row_groups(self) -> tuple[int, ...]:
        """The row groups that can hold a row that is asked for."""
        return self.data.row_groups

    def decoded_bytes(self, row_group: int) -> int:
        """Return how much memory the columns that are asked for take of a row group, decoded."""
        return self.data.decoded_bytes(row_group)

    def survivors(self, row_groups: Collection[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows that match the filter and are deleted by nothing.

        Args:
            row_groups: some of ``row_groups``; None: all of them.
        """
        return self.data.survivors(self.positions, self.dead, self.last, row_groups)

    def every_row(
        self, fields: Sequence[pa.Field], row_groups: Collection[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows, the deleted ones too.

        Args:
            fields: columns with field ids, in the types that are wanted.
            row_groups: which row groups.
        """
        return self.data.every_row(fields, row_groups)

    def deleted_rows(self) -> IntArray:
        """Return the numbers of all rows that any delete removes, ascending; filters play no part.

        Memory: eight bytes for each of them, one bit for each row of the file.
        """
        return np.flatnonzero(self.dead_rows().slice(0, self.data.row_count))

    def dead_rows(self) -> RowSet:
        """Return the same rows as a set."""
        rows = RowSet(self.data.row_count)
        rows.add(distinct(self.positions[self.positions < self.data.row_count]))
        if self.last is not None:
            for killed in self.data.killed_rows(self.last):
                rows.add(killed)
        return rows if self.dead is None else rows | self.dead

    @property
    def row_count(self) -> int:
        """The rows of the whole file."""
        return self.data.row_count


def _check(task: NodeTask, request: ReadRequest) -> None:
    """Refuse a task that would be read wrongly."""
    known = {FileKind.BASE, FileKind.INSERT}
    if not task.change_deletes:
        known.add(FileKind.CHANGE_DELETE)
    elif not len(request.key):
        raise InternalError(f"node task {task.node} has change deletes, but the table has no key")
    for file_task in task.data:
        if file_task.file.kind not in known:
            raise InternalError(
                f"file {file_task.file.path!r}: kind {file_task.file.kind} as data of a task with "
                f"{len(task.change_deletes)} change deletes"
            )
