"""Many small data files one behind the other, merged as if they were one.

What a merge begins with (finding columns, looking keys up, copying what is left) takes longer than
a file of some rows takes to decode. So such files are only opened and decoded each by itself.

Rules:
    - Only files whose rows tell them apart by nothing but their transaction are joined: of the same
      columns, without rows that are known to be dead.
    - Rows come in the order of files and of rows in a file, as they do one file at a time.

Memory: ``BATCH_BYTES`` decoded, and one file of that size; a larger one is left to be read alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.mor.batch import BATCH_BYTES, joined, kept, make_batch
from arctic.mor.data_file_reader import MIN_ROWS
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.matched_deletes import dead_rows, merge_columns
from arctic.mor.files.decoded_size import nests
from arctic.mor.files.file_columns import FileColumns, Projection, names_of
from arctic.mor.files.parquet_footer import GUESS_BYTES, Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.prune import row_groups_to_read
from arctic.mor.filters.row_filter import RowTest
from arctic.mor.request import (
    META_FIELDS,
    PLACE_FIELDS,
    OpenFile,
    ReadRequest,
)
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask
from arctic.table.files import TableFile
from arctic.table.filters.predicate import tests_of

LEAST_FILES = 8
"""Of fewer there is little to gain."""

_FACTS = frozenset(known_field_id(each) for each in (*META_FIELDS, *PLACE_FIELDS))


def asks_for_facts(request: ReadRequest) -> bool:
    """Say whether a read wants to know of a row where it is stored, or goes by that."""
    asked = {known_field_id(column) for column in request.schema}
    asked |= {test.field_id for test in tests_of(request.row_filter)}
    return bool(asked & _FACTS)


def is_small(file_task: FileTask, request: ReadRequest) -> bool:
    """Say whether it takes longer to begin a merge of a file than to decode it."""
    file = file_task.file
    return (
        file.size_bytes <= GUESS_BYTES
        and file.record_count < min(MIN_ROWS, request.batch_rows)
        and not file_task.position_deletes
    )


@dataclass(slots=True)
class _Layout:
    """What the columns of a file are, and of every other one that is like it."""

    columns: FileColumns
    test: RowTest
    output: Projection
    merge: Projection
    names: list[str]
    nests: bool


@dataclass(slots=True)
class JoinedFiles:
    """Rows of neighbouring files of one layout."""

    layout: _Layout
    files: list[FileTask] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    transaction_ids: list[int] = field(default_factory=list)
    """Of each batch."""
    rows: int = 0
    size_bytes: int = 0
    is_wide: bool = False
    """It is one file that was not read: its rows do not fit in a batch."""


class SmallFiles:
    """Reads small files of a task whose deletes are in memory."""

    def __init__(
        self,
        request: ReadRequest,
        open_file: OpenFile,
        touched: Touched,
        index: DeleteIndex | None,
    ) -> None:
        """Take the last deletes of the task: they are the only ones."""
        self._request = request
        self._open_file = open_file
        self._touched = touched
        self._index = index

    def joined(self, files: Sequence[FileTask]) -> Iterator[JoinedFiles]:
        """Yield the rows of files as they are stored, as many together as fit in a batch."""
        some: JoinedFiles | None = None
        for file_task in files:
            file = file_task.file
            with ParquetInput(
                file.path,
                self._open_file,
                Size.of(file),
                verifies_pages=self._request.verifies_pages,
            ) as parquet:
                layout = self._layout(file, parquet, None if some is None else some.layout)
                parquet.nests = layout.nests
                is_wide = parquet.decoded_bytes(parquet.row_groups, layout.names) > BATCH_BYTES
                if some is not None and (
                    is_wide
                    or layout is not some.layout
                    or some.rows + file.record_count > self._request.batch_rows
                    or some.size_bytes > BATCH_BYTES
                ):
                    yield some
                    some = None
                if is_wide:
                    yield JoinedFiles(layout, [file_task], is_wide=True)
                    continue
                some = JoinedFiles(layout) if some is None else some
                some.files.append(file_task)
                for batch in self._stored(file, parquet, layout):
                    some.batches.append(batch)
                    some.transaction_ids.append(file.transaction_id)
                    some.rows += batch.num_rows
                    # They are of this file alone; to count what is used of them takes longer.
                    some.size_bytes += batch.get_total_buffer_size()
        if some is not None:
            yield some

    def survivors(self, some: JoinedFiles) -> pa.RecordBatch:
        """Return the rows that match the filter and are deleted by nothing.

        Raises:
            FormatError: one of the files lacks what it must have; which one is not said.
        """
        layout = some.layout
        if not some.batches:
            return pa.RecordBatch.from_pylist([], schema=self._request.schema)
        batch = joined(some.batches)
        mask = layout.test.mask(batch)
        if self._index is not None:
            lengths = [each.num_rows for each in some.batches]
            ids = np.repeat(np.array(some.transaction_ids, np.int64), lengths)
            file = some.files[0].file
            dead = dead_rows(batch, layout.merge, self._index, self._request, file, ids)
            mask[dead] = False
        batch = kept(batch.select(layout.output.names), mask)
        return make_batch(layout.output.arrays(batch), self._request.schema, batch.num_rows)

    def _layout(self, file: TableFile, parquet: ParquetInput, last: _Layout | None) -> _Layout:
        """Return what the columns of a file are: that of the last one, if they are the same."""
        if last is not None and last.columns.are_those_of(file, parquet.schema):
            return last
        request = self._request
        columns = FileColumns(file, parquet.schema, request)
        test, output = RowTest(columns, request), columns.project(request.schema)
        merge = merge_columns(columns, request, file.kind, self._index)
        names = names_of(output, merge, test.projection)
        return _Layout(columns, test, output, merge, names, nests(parquet.schema))

    def _stored(
        self, file: TableFile, parquet: ParquetInput, layout: _Layout
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file that a matching row can be among."""
        request, touched = self._request, self._touched
        groups = row_groups_to_read(parquet, layout.columns, request, touched)
        if self._index is not None and self._index.may_follow(file.transaction_id, file.kind):
            touched.merged += len(groups)
        else:
            touched.passed += len(groups)
        for _, batch in parquet.batches(layout.names, groups, request.batch_rows):
            yield batch
