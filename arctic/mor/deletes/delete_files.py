"""Files of change deletes, read batch by batch; small ones are kept for other tasks of the read.

Small writes leave deletes that reach several nodes, and every node has a task: each would open and
decode the same files.

Rules:
    - Every delete row has a file offset and values in the ordering columns, or the file is refused.
    - A delete is left out only where every row that it could kill is left out too.
    - Where two threads come to a small file together, one of them reads it for both.

Memory: ``MOST_BYTES`` at most for what is kept, however many files there are; twenty thousand of a
few rows fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import order_numbers
from arctic.columns.integers.integer_index import IntArray
from arctic.errors import FormatError, InternalError
from arctic.mor.deletes.delete_index import DeleteRows
from arctic.mor.deletes.row_weights import delete_weights
from arctic.mor.files.file_columns import FileColumns, Projection
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.prune import row_groups_to_read
from arctic.mor.filters.row_filter import RowTest, of_keys
from arctic.mor.request import FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import FileKind, TableFile


def every_delete(
    files: Sequence[TableFile], request: ReadRequest, open_file: OpenFile
) -> Iterator[DeleteRows]:
    """Yield the deletes of some files that a filter of the key does not drop, batch by batch.

    Raises:
        FormatError: a file without a key column or without file offsets.
    """
    reader = DeleteFiles(request, open_file)
    for file in files:
        yield from reader.rows_of(file)


class DeleteFiles:
    """Reads files of deletes, one after the other: what two of them have alike is found once."""

    def __init__(self, request: ReadRequest, open_file: OpenFile) -> None:
        self._request = of_keys(request)
        self._open_file = open_file
        self._uncounted = Touched()
        """Of a read only row groups of data are counted."""
        self._last: tuple[FileColumns, Projection, RowTest] | None = None

    def rows_of(self, file: TableFile) -> Iterator[DeleteRows]:
        """Yield the deletes of a file that match."""
        if file.kind is not FileKind.CHANGE_DELETE:
            raise InternalError(f"file {file.path!r} of kind {file.kind} is attached as deletes")
        request = self._request
        with ParquetInput(
            file.path, self._open_file, Size.of(file), verifies_pages=request.verifies_pages
        ) as parquet:
            columns, wanted, test = self._columns(file, parquet)
            groups = row_groups_to_read(parquet, columns, request, self._uncounted)
            names = list(dict.fromkeys((*wanted.names, *test.projection.names)))
            for _, batch in parquet.batches(names, groups, request.batch_rows):
                try:
                    rows = self._rows(file, batch, wanted, test)
                except FormatError:
                    # The columns may be those of another file, which would be named.
                    self._last = None
                    _, wanted, test = self._columns(file, parquet)
                    rows = self._rows(file, batch, wanted, test)
                yield rows

    def _columns(
        self, file: TableFile, parquet: ParquetInput
    ) -> tuple[FileColumns, Projection, RowTest]:
        if self._last is None or not self._last[0].are_those_of(file, parquet.schema):
            request = self._request
            columns = FileColumns(file, parquet.schema, request)
            wanted = columns.project([*request.key, FILE_OFFSET_FIELD, *request.ordering])
            self._last = columns, wanted, RowTest(columns, request)
        return self._last

    def _rows(
        self, file: TableFile, batch: pa.RecordBatch, wanted: Projection, test: RowTest
    ) -> DeleteRows:
        request = self._request
        if test.drops_rows:
            batch = batch.filter(pa.array(test.mask(batch)))
        arrays = wanted.arrays(batch)
        keys, ordering = arrays[: len(request.key)], arrays[len(request.key) + 1 :]
        offsets = known_offsets(arrays[len(request.key)], file.path)
        weights: tuple[IntArray, ...] = ()
        if not request.dies_by_deletes_alone:
            weights = delete_weights(
                request.engine,
                _known_order(ordering, request.ordering, file.path),
                transaction_id=file.transaction_id,
                offsets=offsets,
            )
        return DeleteRows(
            pa.table(keys, schema=request.key),
            np.full(len(batch), file.transaction_id, np.int64),
            offsets,
            weights,
        )


def known_offsets(offsets: pa.Array, path: str) -> IntArray:
    """Return file offsets as numbers.

    Raises:
        FormatError: some row has none, or the file lacks the column.
    """
    if offsets.null_count:
        raise FormatError(
            f"change file {path!r}: {offsets.null_count} rows have no '_file_offset'; expected one "
            "in every row, because it decides whether a delete comes before or after an insert"
        )
    numbers: IntArray = offsets.to_numpy()
    return numbers


def _known_order(columns: Sequence[pa.Array], fields: pa.Schema, path: str) -> tuple[IntArray, ...]:
    """Return the ordering columns of change deletes as numbers.

    Raises:
        FormatError: some row has no value, or the file lacks a column.
    """
    for column, field in zip(columns, fields, strict=True):
        if column.null_count:
            raise FormatError(
                f"change file {path!r}: {column.null_count} deletes have no {field.name!r}; "
                "expected a value in every one, because by this column the table decides which "
                "rows it removes"
            )
    return order_numbers(columns)


SMALL_BYTES = 256 * 2**10
"""A larger file is not kept."""
MOST_BYTES = 64 * 2**20
_AROUND_BYTES = 2_560
"""Of any file beside its rows: the objects around them, as measured."""


class Sized(Protocol):
    """Some deletes of a file."""

    @property
    def held_bytes(self) -> int:
        """What they take as they are."""


Rows = TypeVar("Rows", bound=Sized)


class KeptDeletes:
    """What was read of small files, for one request; used by several threads, and pickles empty."""

    def __init__(self) -> None:
        self._found: dict[str, Sequence[Any]] = {}
        self._coming: dict[str, Future[Sequence[Any]]] = {}
        self._left_bytes = MOST_BYTES
        self._lock = Lock()

    def __reduce__(self) -> Any:
        """Travel without what was read."""
        return KeptDeletes, ()

    def of(self, file: TableFile, read: Callable[[TableFile], Iterable[Rows]]) -> Iterable[Rows]:
        """Return the deletes of a file, which are read if nobody has done so.

        Args:
            file: of deletes.
            read: yields them, always the same; a large file is not kept, and read lazily.
        """
        if file.size_bytes > SMALL_BYTES:
            return read(file)
        with self._lock:
            known, coming = self._found.get(file.path), self._coming.get(file.path)
            if known is None and coming is None:
                self._coming[file.path] = Future()
        if known is not None:
            return known
        return self._read(file, read) if coming is None else coming.result()

    def _read(self, file: TableFile, read: Callable[[TableFile], Iterable[Rows]]) -> Sequence[Rows]:
        try:
            found = list(read(file))
        except BaseException as error:
            with self._lock:
                self._coming.pop(file.path).set_exception(error)
            raise
        cost = _AROUND_BYTES + sum(rows.held_bytes for rows in found)
        with self._lock:
            if cost <= self._left_bytes:
                self._left_bytes -= cost
                self._found[file.path] = found
            self._coming.pop(file.path).set_result(found)
        return found
