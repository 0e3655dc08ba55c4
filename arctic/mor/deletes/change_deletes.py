"""Change deletes of a task: for every deleted key, the greatest of its deletes.

The greatest by Lsn; in a table with ordering columns by their values, then by Lsn; where the first
row of a key stays, the first.

Strategy: delete files are read batch by batch into a buffer. When it is full, deletes of one key
are reduced to the newest; if that frees less than half, the buffer becomes an index of its own
and the next one begins. A row dies iff *some* index kills it, so the indexes can be applied one
after the other, in any order, and no delete is read twice.

Rules:
    - Deletes in memory stay below ``max_delete_bytes``, but for one batch.
    - Every delete row has a file offset and values in the ordering columns, or the file is refused.
    - A delete is left out only where every row that it could kill is left out too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.event_order import (
    LEAST_NUMBER,
    compare,
    greatest_by_code,
    order_numbers,
)
from arctic.columns.integers.integer_index import Hits, IntArray
from arctic.columns.key_codes import KeyIndex, factorise
from arctic.errors import FormatError, InternalError
from arctic.mor.deletes.kept_deletes import KeptDeletes
from arctic.mor.deletes.row_weights import delete_weights
from arctic.mor.files.file_columns import FileColumns, Projection
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.key_span import KeySpans
from arctic.mor.filters.prune import matching_row_groups
from arctic.mor.filters.row_filter import RowTest, of_keys
from arctic.mor.request import FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import ColumnBounds, FileKind, TableFile, Value

ROW_BYTES = 160
"""What a delete takes beside its key at most, while an index of one key column is built and rows
are first looked up in it."""
COLUMN_BYTES = 68
"""What each further key column adds to it."""
ORDERING_BYTES = 40
"""What each ordering column adds: as read, sorted, taken for the newest, of rivals, compared."""
KEY_COPIES = 3
"""How often a key is in memory then: as read, hashed, and among the distinct ones. All three
were measured, as the peak of Arrow's and numpy's memory; an index itself takes less than half."""
_PIECE_ROWS = 1_024
"""Pieces of fewer rows cost more each than copying them."""


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Deletes as they were read: columns of one length."""

    keys: pa.Table
    transaction_ids: IntArray
    file_offsets: IntArray
    ordering: tuple[IntArray, ...]
    """By which they are held against rows, see ``row_weights``; none: the later event wins."""

    @property
    def held_bytes(self) -> int:
        """What they take as they are."""
        columns = (self.transaction_ids, self.file_offsets, *self.ordering)
        return int(self.keys.nbytes + sum(column.nbytes for column in columns))

    @property
    def memory_bytes(self) -> int:
        """What they take, with the index that is built of them."""
        row_bytes = ROW_BYTES + COLUMN_BYTES * (self.keys.num_columns - 1)
        row_bytes += ORDERING_BYTES * len(self.ordering)
        return int(KEY_COPIES * self.keys.nbytes + row_bytes * self.keys.num_rows)

    def newest(self, codes: IntArray, count: int) -> IntArray:
        """Return the greatest row for each code of a key."""
        columns = (*self.ordering, self.transaction_ids, self.file_offsets)
        return greatest_by_code(columns, codes, count)

    def reduced(self) -> DeleteRows:
        """Return the newest delete of each key."""
        rows = self.newest(*factorise(self.keys))
        return DeleteRows(
            self.keys.take(pa.array(rows)),
            self.transaction_ids[rows],
            self.file_offsets[rows],
            tuple(column[rows] for column in self.ordering),
        )


class DeleteIndex:
    """Deleted keys with the greatest delete of each."""

    def __init__(self, rows: DeleteRows) -> None:
        self._keys = KeyIndex(rows.keys)
        newest = rows.newest(self._keys.take_codes(), self._keys.count)
        self._transaction_ids = rows.transaction_ids[newest]
        self._file_offsets = rows.file_offsets[newest]
        self._ordering = tuple(column[newest] for column in rows.ordering)
        self._rivals: tuple[IntArray, ...] = ()
        """For each key the greatest values of its rivals; of a key without any, the least."""
        first = self._ordering[0] if self._ordering else np.empty(0, np.int64)
        self._least = int(first.min(initial=np.iinfo(np.int64).max))
        """Of the first ordering column."""
        self._newest_id = int(self._transaction_ids.max(initial=-1))
        self._spans = KeySpans(rows.keys)

    def may_follow(self, transaction_id: int, kind: FileKind) -> bool:
        """Say whether some delete can come after a row of a file.

        Args:
            transaction_id: that of every row, or of every base row at most.
            kind: of the file: only inserts have offsets among those of deletes.
        """
        if kind is FileKind.INSERT:
            # By ordering columns an older delete can come after a newer insert.
            return self._newest_id >= transaction_id or bool(self._ordering)
        return self._newest_id > transaction_id

    def may_hold(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether some delete can have a key within bounds.

        Args:
            bounds: of each key column in key order; None where nothing is known.
        """
        return self._spans.meet(bounds)

    def match(self, keys: Sequence[pa.Array]) -> Hits:
        """Look keys up: the rows whose key is deleted, ascending, and what the index calls each.

        Args:
            keys: the key columns in key order.
        """
        return self._keys.match(keys)

    def outdoes(self, upper: Value) -> bool:
        """Say whether each delete is greater than a row whose first ordering column has a bound.

        Args:
            upper: at least that row's value; None: unknown.
        """
        return isinstance(upper, int) and bool(self._ordering) and upper < self._least

    def add_rivals(self, codes: IntArray, ordering: Sequence[IntArray]) -> None:
        """Take rows of which one outdoes an insert of its key if its values are greater.

        Args:
            codes: what the index calls their keys.
            ordering: their weights.
        """
        if not self._rivals:
            self._rivals = tuple(
                np.full(self._keys.count, LEAST_NUMBER) for _ in range(len(ordering))
            )
        if _repeats(codes, self._keys.count):
            codes, places = np.unique(codes, return_inverse=True)
            best = greatest_by_code(ordering, places, len(codes))
            ordering = [column[best] for column in ordering]
        greater, _ = compare(ordering, [column[codes] for column in self._rivals])
        for held, values in zip(self._rivals, ordering, strict=True):
            held[codes[greater]] = values[greater]

    def are_dead(
        self,
        codes: IntArray,
        transaction_id: int | IntArray,
        file_offsets: IntArray | None,
        ordering: Sequence[IntArray],
    ) -> npt.NDArray[np.bool_]:
        """Say which of some rows that were looked up a delete kills.

        A row dies iff a delete of its key is greater, strictly: has a greater Lsn, or first greater
        weights. An insert also dies by a rival with greater ones.

        Args:
            codes: what the index calls their keys.
            transaction_id: that of every row, or of each; of base rows at most.
            file_offsets: those of insert rows; None for base rows, which come after every change
                of their transaction.
            ordering: their weights; none where deletes have none.
        """
        delete_ids = self._transaction_ids[codes]
        dead: npt.NDArray[np.bool_] = delete_ids > transaction_id
        if file_offsets is not None:
            later = self._file_offsets[codes] > file_offsets
            dead |= (delete_ids == transaction_id) & later
        if self._ordering:
            greater, equal = compare([column[codes] for column in self._ordering], ordering)
            dead = greater | (equal & dead)
            if self._rivals and file_offsets is not None:
                dead |= compare([column[codes] for column in self._rivals], ordering)[0]
        return dead


@dataclass(frozen=True, slots=True)
class DeletePiece:
    """As many of a task's deletes as fit in memory."""

    index: DeleteIndex
    is_last: bool
    """Whether all deletes have been seen now."""


def delete_pieces(
    files: Sequence[TableFile],
    request: ReadRequest,
    open_file: OpenFile,
    touched: Touched,
    kept: KeptDeletes,
) -> Iterator[DeletePiece]:
    """Read delete files into one index after the other; the caller forgets each before the next.

    Args:
        files: of one task.
        request: the read.
        open_file: how a path is opened.
        touched: what to add counts to.
        kept: what other tasks of the read have found in small files.

    Raises:
        FormatError: a file without a key column or without file offsets.
    """
    buffer: list[DeleteRows] = []
    used_bytes = 0
    touched.delete_files += len(files)
    # In the order of their transactions, deletes need no sorting.
    ordered = sorted(files, key=lambda file: (file.transaction_id, file.path))
    reader = _DeleteFiles(request, open_file)
    for rows in chain.from_iterable(kept.of(file, reader.rows_of) for file in ordered):
        touched.delete_rows += len(rows.file_offsets)
        taken = rows.memory_bytes
        if buffer and used_bytes + taken > request.max_delete_bytes:
            buffer = [_joined(buffer).reduced()]
            used_bytes = buffer[0].memory_bytes
            if used_bytes > request.max_delete_bytes // 2:
                index = DeleteIndex(buffer.pop())
                used_bytes = 0
                yield DeletePiece(index, is_last=False)
                del index
        buffer.append(rows)
        used_bytes += taken
    if buffer:
        every = _joined(buffer)
        buffer.clear()
        index = DeleteIndex(every)
        del every
        yield DeletePiece(index, is_last=True)


def every_delete(
    files: Sequence[TableFile], request: ReadRequest, open_file: OpenFile
) -> Iterator[DeleteRows]:
    """Yield the deletes of some files that a filter of the key does not drop, batch by batch.

    Raises:
        FormatError: a file without a key column or without file offsets.
    """
    reader = _DeleteFiles(request, open_file)
    for file in files:
        yield from reader.rows_of(file)


class _DeleteFiles:
    """Reads files of deletes, one after the other: what two of them have alike is found once."""

    def __init__(self, request: ReadRequest, open_file: OpenFile) -> None:
        self._request = of_keys(request)
        self._open_file = open_file
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
            groups = matching_row_groups(parquet, request, columns.names, columns.constants)
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
        return DeleteRows(
            pa.table(keys, schema=request.key),
            np.full(len(batch), file.transaction_id, np.int64),
            offsets,
            delete_weights(
                request.engine,
                known_order(ordering, request.ordering, file.path),
                transaction_id=file.transaction_id,
                offsets=offsets,
            ),
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


def known_order(columns: Sequence[pa.Array], fields: pa.Schema, path: str) -> tuple[IntArray, ...]:
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


def _repeats(codes: IntArray, count: int) -> bool:
    """Say whether some code comes twice; of a base file's rows hardly one does."""
    rows = np.arange(len(codes))
    last = np.empty(count, np.int64)
    last[codes] = rows
    return not np.array_equal(last[codes], rows)


def _in_few_pieces(keys: pa.Table) -> pa.Table:
    """Return the same rows; of very many small files, copied together."""
    pieces = keys.column(0).num_chunks
    return keys.combine_chunks() if pieces * _PIECE_ROWS > keys.num_rows else keys


def _joined(buffer: Sequence[DeleteRows]) -> DeleteRows:
    return DeleteRows(
        _in_few_pieces(pa.concat_tables([rows.keys for rows in buffer])),
        np.concatenate([rows.transaction_ids for rows in buffer]),
        np.concatenate([rows.file_offsets for rows in buffer]),
        tuple(map(np.concatenate, zip(*[rows.ordering for rows in buffer], strict=True))),
    )
