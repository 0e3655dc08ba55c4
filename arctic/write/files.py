"""Parquet files of one task: rows gathered for each destination, row groups written, sizes kept.

Rules:
    - One file for each destination; the next one begins above the target size.
    - Nothing is opened before a destination has rows to write, so a task without rows leaves no
      file, and neither does one that fails early.
    - A task that fails removes its files; what stays behind is never referred to.

Memory: ``buffer_bytes`` of Arrow data over all destinations, and the row group being written.

Must not know: what rows mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from arctic.errors import StorageError
from arctic.table.filename import format_name
from arctic.table.files import FileKind, Partition, WrittenFile
from arctic.tree.node import TreeNode
from arctic.write.target import TaskId, WriteTarget

_ARRAY_BYTES = 731
"""Memory of an Arrow array beside its values, as measured: with thousands of partitions a few
rows of each are gathered at a time, and this is most of it."""


_MAX_OPEN_FILES = 256
"""Many systems allow a process 1,024 handles, and object stores keep a part of each in memory.
Above this the file that was written to longest ago is completed, and its destination may get
another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where rows are written to together."""

    partition: Partition
    node: TreeNode
    kind: FileKind
    referenced_path: str | None = None
    """Position deletes only: the data file they point to, which has a delete file of its own."""


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """Rows of a destination that are not written yet."""

    tables: list[tuple[pa.Table, int]] = field(default_factory=list)
    """In the order they came, each with its bytes."""
    row_bytes: int = 0
    held_bytes: int = 0
    """``row_bytes`` and what the arrays cost beside their values."""


@dataclass(slots=True, kw_only=True)
class _OpenFile:
    """A file that takes row groups."""

    path: str
    sink: Any
    writer: Any
    footers: list[Any]
    rows: int = 0


class DataFiles:
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
        self._waiting: dict[Destination, _Waiting] = {}
        self._held_bytes = 0
        self._open: dict[Destination, _OpenFile] = {}
        self._finished: list[WrittenFile] = []
        self._created: list[str] = []

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
        waiting = self._waiting.setdefault(destination, _Waiting())
        row_bytes = rows.nbytes
        held_bytes = row_bytes + rows.num_columns * _ARRAY_BYTES
        waiting.tables.append((rows, row_bytes))
        waiting.row_bytes += row_bytes
        waiting.held_bytes += held_bytes
        self._held_bytes += held_bytes
        if waiting.row_bytes >= options.row_group_bytes:
            self._flush(destination)
        while self._held_bytes > options.buffer_bytes:
            self._flush(max(self._waiting, key=lambda place: self._waiting[place].held_bytes))

    def close(self) -> tuple[WrittenFile, ...]:
        """Write what is left and complete every file.

        Raises:
            StorageError: a file could not be created or written.
        """
        # One by one: thousands of destinations need only a handle at a time here.
        for destination in [*self._waiting, *self._open]:
            if destination in self._waiting:
                self._flush(destination)
            if destination in self._open:
                self._finish(destination)
        return tuple(self._finished)

    def abort(self) -> None:
        """Give everything up and remove the files as far as that can be done."""
        self._waiting.clear()
        self._held_bytes = 0
        while self._open:
            _, opened = self._open.popitem()
            # The failure that led here is the one to report, not those of tidying up.
            with contextlib.suppress(OSError, pa.ArrowException, RuntimeError):
                opened.writer.close()
            with contextlib.suppress(OSError, pa.ArrowException):
                opened.sink.close()
        with contextlib.suppress(OSError):
            self._target.delete_files(self._created)
        self._created.clear()
        self._finished.clear()

    def _flush(self, destination: Destination) -> None:
        waiting = self._waiting.pop(destination)
        self._held_bytes -= waiting.held_bytes
        for rows, size in _joined(waiting.tables, self._target.options.row_group_bytes):
            options = self._target.options
            by_rows = -(-rows.num_rows // options.row_group_rows)
            groups = max(by_rows, round(size / options.row_group_bytes), 1)
            step = -(-rows.num_rows // groups)
            for start in range(0, rows.num_rows, step):
                self._write(destination, rows.slice(start, step))

    def _write(self, destination: Destination, rows: pa.Table) -> None:
        opened = self._open.pop(destination, None) or self._create(destination)
        self._open[destination] = opened  # at the end: the first has waited longest
        row_group = _as_schema(rows, self._schemas[destination.kind])
        with _storage_errors(opened.path):
            opened.writer.write_table(row_group, row_group_size=rows.num_rows)
            opened.rows += rows.num_rows
            size = opened.sink.tell()
        if size >= self._target.options.target_file_bytes:
            self._finish(destination)

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
        self._created.append(path)
        footers: list[Any] = []
        with _storage_errors(path):
            sink = self._target.create_output(path)
            writer = pq.ParquetWriter(
                sink,
                self._schemas[destination.kind],
                metadata_collector=footers,
                **_parquet_options(self._target.options.compression),
            )
        return _OpenFile(path=path, sink=sink, writer=writer, footers=footers)

    def _finish(self, destination: Destination) -> None:
        opened = self._open[destination]
        with _storage_errors(opened.path):
            opened.writer.close()
            size = opened.sink.tell()
            opened.sink.close()
        del self._open[destination]
        self._finished.append(
            WrittenFile(
                path=opened.path,
                kind=destination.kind,
                node=destination.node,
                partition=destination.partition,
                size_bytes=size,
                record_count=opened.rows,
                footer=_footer_bytes(opened.footers[-1]),
            )
        )


def _joined(
    tables: Sequence[tuple[pa.Table, int]], row_group_bytes: int
) -> Iterator[tuple[pa.Table, int]]:
    """Join neighbours to about a row group, and never split one to do so.

    What was added together may cover a range of keys without being sorted in it.
    """
    held: list[pa.Table] = []
    held_bytes = 0
    for rows, size in tables:
        if held and held_bytes + size >= 1.5 * row_group_bytes:
            yield pa.concat_tables(held), held_bytes
            held, held_bytes = [], 0
        held.append(rows)
        held_bytes += size
    yield pa.concat_tables(held), held_bytes


_DICTIONARY_BYTES = 64 * 2**10
"""Above this a column chunk gives its dictionary up.

Measured on upserts of 500,000 rows with 10 columns of mixed types in 4 nodes (zstd): pyarrow's
1 MiB, spent on ids, times and texts that hardly repeat, made files a quarter larger and took half
as much time again; below 64 KiB nothing more is gained. Row groups of 8 to 64 MiB of Arrow data
differ by 2 to 3 %, so that size is left to lookups, which read whole row groups.
"""


def _parquet_options(compression: str) -> dict[str, Any]:
    return {
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
        "compression": "none" if compression == "uncompressed" else compression,
        # As Iceberg asks for: decimals up to 18 digits are integers.
        "store_decimal_as_integer": True,
        "write_statistics": True,
        # The types of the table say it all; the copy would triple the footer of a narrow table.
        "store_schema": False,
    }


def _footer_bytes(metadata: Any) -> bytes:
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    return bytes(sink.getvalue())


def _as_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        column if column.type == wanted.type else pc.cast(column, wanted.type)
        for column, wanted in zip(rows.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@contextlib.contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"data file {path!r} could not be written: {error}") from error
