"""One data file being read: which of its rows survive, and in what form they leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.mor.batch import make_batch
from arctic.mor.change_deletes import DeleteIndex, known_offsets
from arctic.mor.file_columns import FileColumns, Projection
from arctic.mor.integer_index import IntArray
from arctic.mor.parquet_input import ParquetInput
from arctic.mor.prune import matching_row_groups
from arctic.mor.request import FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.mor.row_filter import RowTest
from arctic.mor.row_set import RowSet
from arctic.table.files import FileKind, KeyedFile

Mask = npt.NDArray[np.bool_]

FEW_DROPPED = 64
"""Below one row in so many, copying runs of rows is faster than picking them one by one."""


class DataFile:
    """A data file that is open; to be used as a context manager."""

    def __init__(self, file: KeyedFile, request: ReadRequest, open_file: OpenFile) -> None:
        self._file = file
        self._request = request
        self._parquet = ParquetInput(file.path, open_file)
        try:
            self._columns = FileColumns(file, self._parquet.schema, request)
            self._row_groups = matching_row_groups(
                self._parquet, request.row_filter, self._columns.names, self._columns.constants
            )
        except BaseException:
            self._parquet.close()
            raise

    def __enter__(self) -> DataFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._parquet.close()

    @property
    def row_groups(self) -> tuple[int, ...]:
        """The row groups that can hold a matching row, ascending."""
        return self._row_groups

    @property
    def row_count(self) -> int:
        """The rows of the whole file."""
        return int(self._parquet.metadata.num_rows)

    def killed_rows(self, index: DeleteIndex) -> Iterator[IntArray]:
        """Yield numbers, in the whole file, of rows that deletes kill."""
        merge = self._merge_columns()
        for first_row, batch in self._batches(self._row_groups, merge):
            yield first_row + self._dead_rows(batch, merge, index)

    def every_row(
        self, fields: Sequence[pa.Field], row_groups: Collection[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows of some row groups, matching or not, deleted or not."""
        wanted, schema = self._columns.project(fields), pa.schema(fields)
        for _, batch in self._batches(row_groups, wanted):
            yield make_batch(wanted.arrays(batch), schema, len(batch))

    def survivors(
        self,
        positions: IntArray,
        dead: RowSet | None,
        index: DeleteIndex | None,
        row_groups: Collection[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that match the filter and are deleted by nothing.

        Args:
            positions: rows that position deletes remove, ascending.
            dead: rows that are known to be dead already.
            index: further change deletes.
            row_groups: some of ``row_groups``; None: all of them.
        """
        groups = self._row_groups if row_groups is None else row_groups
        output = self._columns.project(self._request.schema)
        test = RowTest(self._columns, self._request.row_filter)
        merge = self._merge_columns() if index is not None else self._columns.project([])
        for first_row, batch in self._batches(groups, output, test.projection, merge):
            mask = np.ones(len(batch), bool)
            start, end = np.searchsorted(positions, (first_row, first_row + len(batch)))
            mask[positions[start:end] - first_row] = False
            if dead is not None:
                mask &= ~dead.slice(first_row, len(batch))
            mask &= test.mask(batch)
            if index is not None:
                if 2 * np.count_nonzero(mask) < len(batch):
                    # Looking keys up costs more than copying the few rows that are left.
                    batch = _kept(batch, mask)
                    mask = np.ones(len(batch), bool)
                mask[self._dead_rows(batch, merge, index)] = False
            batch = _kept(batch.select(output.names), mask)
            yield make_batch(output.arrays(batch), self._request.schema, len(batch))

    def _batches(
        self, row_groups: Collection[int], *projections: Projection
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        names = dict.fromkeys(name for projection in projections for name in projection.names)
        return self._parquet.batches(list(names), row_groups, self._request.batch_rows)

    def _merge_columns(self) -> Projection:
        """Return the key columns, and the file offset where rows have one of their own."""
        offset = [FILE_OFFSET_FIELD] if self._file.kind is FileKind.INSERT else []
        return self._columns.project([*self._request.key, *offset])

    def _dead_rows(self, batch: pa.RecordBatch, merge: Projection, index: DeleteIndex) -> IntArray:
        keys, offsets = merge.arrays(batch), None
        if self._file.kind is FileKind.INSERT:
            offsets = known_offsets(keys.pop(), self._file.path)
        return index.dead_rows(keys, self._file.transaction_id, offsets)


def _kept(batch: pa.RecordBatch, mask: Mask) -> pa.RecordBatch:
    """Return the rows where the mask is true."""
    dropped = len(mask) - int(np.count_nonzero(mask))
    if not dropped:
        return batch
    kept = pa.array(mask)
    if dropped * FEW_DROPPED > len(mask) or not batch.num_columns:
        # Arrow turns the mask into row numbers once, and takes them from each column.
        return batch.filter(kept)
    columns = [column.filter(kept) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
