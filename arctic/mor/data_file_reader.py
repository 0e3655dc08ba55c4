"""One data file being read: which of its rows survive, and in what form they leave.

Strategy: row groups are sorted out before their columns are read. Bounds of the filter's columns
leave some out; bounds of the key tell which of the others hold no deleted key, and those are read
without a lookup. Where a filter tests a part of the columns, that part is read first, a run of row
groups at a time; the rest of the columns is read of the row groups that have a row left.

Rules:
    - A fast path skips work whose result is known: rows are the same without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.integers.integer_index import IntArray
from arctic.columns.integers.row_set import RowSet
from arctic.mor.batch import beside, decoded, kept, make_batch
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.matched_deletes import FoundRows, dead_rows, found_rows, merge_columns
from arctic.mor.deletes.position_deletes import RemovedRows
from arctic.mor.files.asked_ranges import RUN_BYTES, Run, runs
from arctic.mor.files.file_columns import FileColumns, Projection, names_of
from arctic.mor.files.kept_keys import KEPT_KEYS, place_of
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.prune import key_bounds, row_groups_to_read
from arctic.mor.filters.row_filter import RowTest
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.sieve import Sieve
from arctic.mor.touched import Touched
from arctic.table.files import ColumnBounds, FileKind, TableFile
from arctic.table.merge_engine import MergeEngine

Mask = npt.NDArray[np.bool_]

MIN_ROWS = 4_096
"""A file of fewer rows is read in one go: what that may decode in vain costs less than to begin a
second reading."""


class DataFileReader:
    """A data file that is open; to be used as a context manager."""

    def __init__(
        self, file: TableFile, request: ReadRequest, open_file: OpenFile, touched: Touched
    ) -> None:
        self._file = file
        self._request = request
        self._touched = touched
        self._parquet = ParquetInput(
            file.path, open_file, Size.of(file), verifies_pages=request.verifies_pages
        )
        try:
            self._columns = FileColumns(file, self._parquet.schema, request)
            self._row_groups = row_groups_to_read(self._parquet, self._columns, request, touched)
        except BaseException:
            self._parquet.close()
            raise

    def __enter__(self) -> DataFileReader:
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

    @property
    def few_rows(self) -> range | None:
        """The rows from the first row group to the last; None: more than half of the file."""
        if not self._row_groups:
            return range(0)
        first, last = self._row_groups[0], self._row_groups[-1]
        counts = [self._parquet.metadata.row_group(each).num_rows for each in range(last + 1)]
        rows = range(sum(counts[:first]), sum(counts))
        return None if 2 * len(rows) > self.row_count else rows

    def decoded_bytes(self, row_group: int) -> int:
        """Return how much memory the columns that are asked for take of a row group, decoded."""
        names = self._columns.project(self._request.schema).names
        return self._parquet.decoded_bytes([row_group], names)

    def killed_rows(self, index: DeleteIndex) -> Iterator[IntArray]:
        """Yield numbers, in the whole file, of rows that deletes kill."""
        merge = self._merge_columns(index)
        dirty = [group for group in self._row_groups if self._may_be_killed(group, index)]
        for first_row, batch in self._looked_up(dirty, merge.names):
            yield first_row + self._dead_rows(batch, merge, index)

    def found_in(self, index: DeleteIndex) -> Iterator[FoundRows]:
        """Yield the merged rows whose keys an index of deletes has, batch by batch."""
        groups = [group for group in self._row_groups if index.may_hold(self._key_bounds(group))]
        wanted = self._columns.project([*self._request.key, *self._request.ordering])
        for first_row, batch in self._looked_up(groups, wanted.names):
            ids = self._file.transaction_id
            found = found_rows(wanted.arrays(batch), index, self._request, ids, None)
            yield FoundRows(first_row, len(batch), *found)

    def every_row(
        self, fields: Sequence[pa.Field], row_groups: Collection[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows of some row groups, matching or not, deleted or not."""
        wanted, schema = self._columns.project(fields), pa.schema(fields)
        for _, batch in self._batches(row_groups, wanted.names):
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

        Memory: a run of row groups; decoded of it a batch, and up to ``RUN_BYTES`` of the columns
        that the filter tests.
        """
        groups = self._row_groups if row_groups is None else row_groups
        output = self._columns.project(self._request.schema)
        stored = output.with_dictionaries(self._parquet.schema)
        test = RowTest(self._columns, self._request)
        for part, deletes in self._sorted_out(groups, index):
            merge = self._merge_columns(deletes)
            sieve = Sieve(test, RemovedRows(positions, dead), merge, deletes)
            for first_row, batch, mask in self._read(part, output, sieve):
                batch = decoded(kept(batch.select(output.names), mask), stored)
                places = first_row + np.flatnonzero(mask) if output.has_positions else None
                yield make_batch(output.arrays(batch, places), self._request.schema, len(batch))

    def _sorted_out(
        self, row_groups: Collection[int], index: DeleteIndex | None
    ) -> Iterator[tuple[list[int], DeleteIndex | None]]:
        """Yield neighbouring row groups, with the deletes that their keys are looked up in."""
        if index is None:
            self._touched.passed += len(row_groups)
            yield list(row_groups), None
            return
        for dirty, part in groupby(row_groups, lambda group: self._may_be_killed(group, index)):
            groups = list(part)
            if dirty:
                self._touched.merged += len(groups)
            else:
                self._touched.passed += len(groups)
            yield groups, index if dirty else None

    def _may_be_killed(self, row_group: int, index: DeleteIndex) -> bool:
        """Say whether a delete can hold a key of a row group, by the bounds of the key columns."""
        file, stays = self._file, self._request.engine is MergeEngine.FIRST_ROW
        if stays and file.kind is FileKind.BASE:
            return False
        if not index.may_follow(file.transaction_id, file.kind):
            return False
        # Inserts are in no order of keys, and as likely changed again as any: no bounds are asked.
        return file.kind is FileKind.INSERT or index.may_hold(self._key_bounds(row_group))

    def _key_bounds(self, row_group: int) -> list[ColumnBounds | None]:
        return [self._bounds(row_group, column) for column in self._request.key]

    def _bounds(self, row_group: int, column: pa.Field) -> ColumnBounds | None:
        return key_bounds(self._parquet, row_group, self._columns.names, column)

    def _read(
        self, row_groups: Collection[int], output: Projection, sieve: Sieve
    ) -> Iterator[tuple[int, pa.RecordBatch, Mask]]:
        """Yield batches, the number of their first row, and which of their rows survive."""
        first = sieve.test.projection.names
        rest = [name for name in names_of(output, sieve.merge) if name not in first]
        names = names_of(output, sieve.merge, sieve.test.projection)
        if not (first and rest and self.row_count >= MIN_ROWS):
            yield from self._read_at_once(row_groups, names, sieve)
            return
        for run in runs(self._parquet.metadata, row_groups):
            if self._parquet.decoded_bytes(run.row_groups, first) <= RUN_BYTES:
                yield from self._read_in_two(run, rest, sieve)
            else:
                yield from self._read_at_once(run.row_groups, names, sieve)

    def _read_at_once(
        self, row_groups: Collection[int], names: Sequence[str], sieve: Sieve
    ) -> Iterator[tuple[int, pa.RecordBatch, Mask]]:
        encoded = self._encoded(names, row_groups, sieve)
        for first_row, batch in self._batches(row_groups, names, encoded=encoded):
            mask = sieve.mask(first_row, batch)
            self._kill(batch, mask, sieve)
            yield first_row, batch, mask

    def _read_in_two(
        self, run: Run, rest: Sequence[str], sieve: Sieve
    ) -> Iterator[tuple[int, pa.RecordBatch, Mask]]:
        """Yield the same as one reading; columns of row groups without a survivor stay unread."""
        names = sieve.test.projection.names
        knows_keys = not set(sieve.merge.names) - set(names)
        tested, masks = [], [np.zeros(0, bool)]
        for first_row, batch in self._batches(run.row_groups, names):
            mask = sieve.mask(first_row, batch)
            if knows_keys:
                self._kill(batch, mask, sieve)
            tested.append(batch)
            masks.append(mask)
        survives = np.concatenate(masks)
        places = run.places(self._parquet.metadata)
        wanted = [group for group, start, end in places if survives[start:end].any()]
        self._touched.without_match += len(run.row_groups) - len(wanted)
        if not wanted:
            return
        columns = pa.Table.from_batches(tested)
        encoded = self._encoded(rest, wanted, sieve)
        for first_row, batch in self._batches(wanted, rest, encoded=encoded):
            start = first_row - run.first_row
            mask = survives[start : start + len(batch)]
            batch = beside(batch, columns.slice(start, len(batch)))
            if not knows_keys:
                self._kill(batch, mask, sieve)
            yield first_row, batch, mask

    def _encoded(
        self, names: Sequence[str], row_groups: Collection[int], sieve: Sieve
    ) -> Sequence[str]:
        """Return the texts that come as dictionaries: looked into by nobody, of few values.

        Measured on a million rows of two such columns: to decode their numbers, drop a tenth of
        them and make texts of the others takes two thirds of the time of dropping texts, and
        less than texts alone where no row is dropped.
        """
        if self.row_count < MIN_ROWS:
            return ()
        wanted = [each for each in names if each not in sieve.looked_into]
        return self._parquet.repeating(wanted, row_groups) if wanted else ()

    def _batches(
        self, row_groups: Collection[int], names: Collection[str], *, encoded: Sequence[str] = ()
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        rows = self._request.batch_rows
        return self._parquet.batches(list(names), row_groups, rows, encoded=encoded)

    def _looked_up(
        self, row_groups: Sequence[int], names: tuple[str, ...]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        place = place_of(self._file.path, names, row_groups) if self._request.keeps_keys else None
        return KEPT_KEYS.of(place, partial(self._batches, row_groups, names))

    def _merge_columns(self, index: DeleteIndex | None) -> Projection:
        kind, is_outdone = self._file.kind, index is not None and self._is_outdone(index)
        return merge_columns(self._columns, self._request, kind, index, is_outdone=is_outdone)

    def _is_outdone(self, index: DeleteIndex) -> bool:
        """Say whether each delete is greater than each row of base, by the bounds of the first."""
        if self._file.kind is not FileKind.BASE or not len(self._request.ordering):
            return False
        first = self._request.ordering.field(0)
        known = (self._bounds(group, first) for group in self._row_groups)
        return all(bounds is not None and index.outdoes(bounds.upper) for bounds in known)

    def _kill(self, batch: pa.RecordBatch, mask: Mask, sieve: Sieve) -> None:
        """Take rows out of a mask whose keys are deleted."""
        merge, index = sieve.merge, sieve.index
        if index is None:
            return
        if 2 * np.count_nonzero(mask) >= len(batch):
            mask[self._dead_rows(batch, merge, index)] = False
            return
        # Looking keys up costs more than copying the few rows that are left.
        rows = np.flatnonzero(mask)
        if len(rows):
            few = kept(batch.select(merge.names), mask)
            mask[rows[self._dead_rows(few, merge, index)]] = False

    def _dead_rows(self, batch: pa.RecordBatch, merge: Projection, index: DeleteIndex) -> IntArray:
        file = self._file
        return dead_rows(batch, merge, index, self._request, file, file.transaction_id)
