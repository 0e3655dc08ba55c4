"""Read what one task was given: open, merge, filter, project; the kernel of every read.

Strategy: a data file is read in batches. Rows that position deletes or the filter drop go first,
then rows whose key a change delete kills, then the columns take the types that were asked for.
Small survivors are joined to larger batches. When a task's change deletes do not fit in memory,
only the key columns of its data are read for each piece of the deletes but the last, to remember
which rows it kills; the payload is read once, together with the last piece.

Rules:
    - Every batch has exactly the requested schema, at least one is yielded, and none exceeds
      ``batch_rows``; rows come in the order of files and of rows in a file.
    - Without change deletes, no key column is read unless it was requested.

Memory: ``max_delete_bytes`` for change deletes, positions of the group's position deletes, one
run of row groups of one file (compressed, ``parquet_input.RUN_BYTES`` or one row group), a few
batches; and one bit for each data row of a task whose deletes do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa

from arctic.errors import InternalError
from arctic.mor.change_deletes import DeleteIndex, DeletePiece, delete_pieces
from arctic.mor.coalesce import coalesce
from arctic.mor.data_file import DataFile
from arctic.mor.position_deletes import PositionDeletes
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.row_set import RowSet
from arctic.scan.task import NodeTask, NodeTaskGroup
from arctic.table.files import FileKind


def read_group(
    group: NodeTaskGroup, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    """Yield the surviving rows of a group's tasks.

    Args:
        group: what one task reads.
        request: columns, key, filter and bounds.
        open_file: how a path is opened for reading.

    Raises:
        FormatError: a file that is corrupt, or lacks what it must have.
        StorageError: a file that is missing or cannot be fetched.
        InternalError: a task that no plan makes, such as an unknown kind of file.
    """
    reader = _GroupReader(group, request, open_file)
    rows = chain.from_iterable(reader.read(task) for task in _neighbours(group.tasks))
    is_empty = True
    for batch in coalesce(rows, max_rows=request.batch_rows):
        is_empty = False
        yield batch
    if is_empty:
        yield pa.RecordBatch.from_pylist([], schema=request.schema)


def _neighbours(tasks: Sequence[NodeTask]) -> list[NodeTask]:
    """Bring tasks with the same change deletes together, in the order of their first."""
    first: dict[tuple[str, ...], int] = {}
    for number, task in enumerate(tasks):
        first.setdefault(_delete_paths(task), number)
    return sorted(tasks, key=lambda task: first[_delete_paths(task)])


def _delete_paths(task: NodeTask) -> tuple[str, ...]:
    return tuple(file.path for file in task.change_deletes)


class _GroupReader:
    """Holds what the tasks of a group share."""

    def __init__(self, group: NodeTaskGroup, request: ReadRequest, open_file: OpenFile) -> None:
        self._request = request
        self._open_file = open_file
        self._positions = PositionDeletes(
            group.tasks, open_file=open_file, batch_rows=request.batch_rows
        )
        self._cached: tuple[tuple[str, ...], DeleteIndex] | None = None

    def read(self, task: NodeTask) -> Iterator[pa.RecordBatch]:
        """Yield the surviving rows of one task."""
        _check(task, self._request)
        last: DeleteIndex | None = None
        dead: dict[str, RowSet] = {}
        for piece in self._pieces(task):
            if piece.is_last:
                last = piece.index
            else:
                self._remember(task, piece.index, dead)
            del piece  # before the next one is loaded: memory is bounded for one
        if last is not None and not dead:
            self._cached = (_delete_paths(task), last)
        for file_task in task.data:
            path = file_task.file.path
            positions = self._positions.rows(path, file_task.position_deletes)
            with DataFile(file_task.file, self._request, self._open_file) as data:
                yield from data.survivors(positions, dead.get(path), last)

    def _pieces(self, task: NodeTask) -> Iterable[DeletePiece]:
        if not task.change_deletes:
            return ()
        if self._cached is not None and self._cached[0] == _delete_paths(task):
            return (DeletePiece(self._cached[1], is_last=True),)
        self._cached = None
        return delete_pieces(task.change_deletes, self._request, self._open_file)

    def _remember(self, task: NodeTask, index: DeleteIndex, dead: dict[str, RowSet]) -> None:
        """Look up the keys of all data in some of the deletes, without reading the payload."""
        for file_task in task.data:
            with DataFile(file_task.file, self._request, self._open_file) as data:
                rows = dead.setdefault(file_task.file.path, RowSet(data.row_count))
                for killed in data.killed_rows(index):
                    rows.add(killed)


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
