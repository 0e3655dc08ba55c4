"""Parquet files of one task: rows gathered for each destination, row groups written, sizes kept.

Strategy: row groups are encoded by ``threads`` threads, those of one file in their order. What a
file is called and where it ends is decided here, by sizes alone, so it is the same for any number
of threads: a file is only waited for when it could have reached its target size.

Rules:
    - One file for each destination; the next one begins above the target size.
    - Nothing is opened before a destination has rows to write, so a task without rows leaves no
      file, and neither does one that fails early.
    - A task that fails removes its files; what stays behind is never referred to.

Memory: ``buffer_bytes`` of Arrow data over all destinations, and the row groups being written: one,
or with threads two for each of them.

Must not know: what rows mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from arctic.table.filename import format_name
from arctic.table.files import FileKind, Partition, WrittenFile
from arctic.tree.node import TreeNode
from arctic.writing.files.ordered_work import Lane, OrderedWork
from arctic.writing.files.parquet_output import ParquetOutput
from arctic.writing.files.waiting_rows import WaitingRows, cut
from arctic.writing.rows.gather import Picked
from arctic.writing.target import TaskId, WriteTarget

_MAX_OPEN_FILES = 256
"""Many systems allow a process 1,024 handles, and object stores keep a part of each in memory.
Above this the file that was written to longest ago is completed, and its destination may get
another one."""

_WHOLE_AT_ONCE = 8
"""So many destinations are written side by side once all of their rows are there: it gives threads
something to do. Their number does not depend on that of threads, because names are counted."""


_FEW_BYTES, _FEW_ROWS = 1 << 16, 1_000
"""Below these, a row group is written sooner than a thread for it wakes up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where rows are written to together."""

    partition: Partition
    node: TreeNode
    kind: FileKind
    referenced_path: str | None = None
    """Position deletes only: the data file they point to, which has a delete file of its own."""


@dataclass(slots=True, kw_only=True, eq=False)
class _OpenFile:
    """A file that takes row groups."""

    destination: Destination
    output: ParquetOutput
    lane: Lane = field(default_factory=Lane)
    most_bytes: int = 0
    """What it has grown to at most: its size when it was last waited for, and Arrow bytes."""


class NodeFiles:
    """The files that one task writes."""

    def __init__(
        self,
        target: WriteTarget,
        task: TaskId,
        *,
        schemas: Mapping[FileKind, pa.Schema],
        transaction_id: int,
    ) -> None:
        self._target = target
        self._task = task
        self._schemas = schemas
        self._transaction_id = transaction_id
        self._work = OrderedWork(target.options.threads)
        self._waiting: dict[Destination, WaitingRows] = {}
        self._held_bytes = 0
        self._open: dict[Destination, _OpenFile] = {}
        self._created: list[_OpenFile] = []
        self._finished: list[_OpenFile] = []

    def add(self, destination: Destination, rows: pa.Table) -> None:
        """Take rows; they are written once enough have come.

        Args:
            destination: where they belong.
            rows: columns of the kind's schema, in its order; large_string and large_binary may
                stand for string and binary. Must not share memory with rows of many other
                destinations, or the budget would count what it cannot free.

        Raises:
            StorageError: a file could not be created or written.
        """
        if rows.num_rows == 0:
            return
        options = self._target.options
        waiting = self._waiting.setdefault(destination, WaitingRows())
        self._held_bytes += waiting.add(rows)
        if waiting.row_bytes >= options.row_group_bytes:
            self._flush(destination)
        while self._held_bytes > options.buffer_bytes:
            self._flush(max(self._waiting, key=lambda place: self._waiting[place].held_bytes))

    def add_made(
        self,
        destinations: Sequence[Destination],
        makers: Sequence[Callable[[], pa.Table]],
        *,
        rows: int,
    ) -> None:
        """Take rows of several destinations that are yet to be made, as ``add`` does.

        Args:
            destinations: where they belong.
            makers: return the rows of each; called in any thread.
            rows: of all of them.
        """
        is_small = rows <= _FEW_ROWS
        for start in range(0, len(makers), _WHOLE_AT_ONCE):
            some = slice(start, start + _WHOLE_AT_ONCE)
            made = self._work.results(makers[some], is_small=is_small)
            for place, part in zip(destinations[some], made, strict=True):
                self.add(place, part)

    def add_whole(self, parts: Iterable[tuple[Destination, Picked]]) -> None:
        """Take all rows that some destinations will ever have; they are written at once.

        Args:
            parts: each destination once, with rows of a table that is in memory anyway, or is made
                when it is asked for; they are taken from it only when they are written.

        Raises:
            StorageError: a file could not be created or written.
        """
        options, coming = self._target.options, iter(parts)
        while some := list(islice(coming, _WHOLE_AT_ONCE)):
            left = [
                (place, cut(rows, options.row_group_bytes, options.row_group_rows))
                for place, rows in some
            ]
            while left:
                left = [part for part in left if self._write_next(*part)]

    def close(self) -> tuple[WrittenFile, ...]:
        """Write what is left and complete every file.

        Raises:
            StorageError: a file could not be created or written.
        """
        # One by one: thousands of destinations need only few handles at a time here.
        for destination in [*self._waiting, *self._open]:
            if destination in self._waiting:
                self._flush(destination)
            if destination in self._open:
                self._finish(destination)
        self._work.close()
        return tuple(_written(file) for file in self._finished)

    def abort(self) -> None:
        """Give everything up and remove the files as far as that can be done."""
        self._work.abandon()
        self._waiting.clear()
        self._held_bytes = 0
        self._open.clear()
        for file in self._created:
            file.output.abandon()
        with contextlib.suppress(OSError):
            self._target.delete_files([file.output.path for file in self._created])
        self._created.clear()
        self._finished.clear()

    def _write_next(self, destination: Destination, row_groups: Iterator[Picked]) -> bool:
        """Write the next row group of a destination; complete its file when there is none."""
        row_group = next(row_groups, None)
        if row_group is not None:
            self._write(destination, row_group)
        elif destination in self._open:
            self._finish(destination)
        return row_group is not None

    def _flush(self, destination: Destination) -> None:
        waiting = self._waiting.pop(destination)
        self._held_bytes -= waiting.held_bytes
        options = self._target.options
        for row_group in waiting.row_groups(options.row_group_bytes, options.row_group_rows):
            self._write(destination, row_group)

    def _write(self, destination: Destination, rows: Picked) -> None:
        opened = self._open.pop(destination, None)
        if opened is not None and self._is_full(opened):
            self._complete(opened)
            opened = None
        opened = opened or self._create(destination)
        self._open[destination] = opened  # at the end: the first has waited longest
        opened.most_bytes += rows.nbytes
        output = opened.output
        self._work.submit(
            opened.lane, lambda: output.write(rows.table()), is_small=rows.nbytes < _FEW_BYTES
        )

    def _is_full(self, opened: _OpenFile) -> bool:
        target_bytes = self._target.options.target_file_bytes
        if opened.most_bytes < target_bytes:
            return False
        self._work.wait(opened.lane)
        opened.most_bytes = opened.output.size_bytes
        return opened.most_bytes >= target_bytes

    def _create(self, destination: Destination) -> _OpenFile:
        while len(self._open) >= _MAX_OPEN_FILES:
            self._finish(next(iter(self._open)))
        name = format_name(
            node=destination.node,
            kind=destination.kind,
            transaction_id=self._transaction_id,
            partition_id=self._task.partition_id,
            task_id=self._task.task_id,
            operation_id=self._task.operation_id,
            count=len(self._created) + 1,
        )
        path = self._target.data_path(destination.kind, destination.partition, name)
        schema = self._schemas[destination.kind]
        is_change = destination.kind in (FileKind.INSERT, FileKind.CHANGE_DELETE)
        sought = self._target.options.sought if is_change else ()
        output = ParquetOutput(self._target, path, schema, sought=sought)
        self._created.append(_OpenFile(destination=destination, output=output))
        return self._created[-1]

    def _finish(self, destination: Destination) -> None:
        self._complete(self._open.pop(destination))

    def _complete(self, opened: _OpenFile) -> None:
        self._finished.append(opened)
        is_small = opened.most_bytes < _FEW_BYTES
        self._work.submit(opened.lane, opened.output.finish, is_small=is_small)


def _written(file: _OpenFile) -> WrittenFile:
    destination, output = file.destination, file.output
    return WrittenFile(
        path=output.path,
        kind=destination.kind,
        node=destination.node,
        partition=destination.partition,
        size_bytes=output.size_bytes,
        record_count=output.row_count,
        footer=output.footer,
        referenced_path=destination.referenced_path,
    )
