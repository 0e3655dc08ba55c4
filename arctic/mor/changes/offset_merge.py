"""Change files of one transaction side by side, merged by file offset.

Strategy: each file shows its next rows; the least of their last offsets is the horizon. What lies
below it is complete, whatever comes later. Rows at the horizon wait, because a file may have more
of them.

Rules:
    - Rows of equal offset leave in one window, deletes first.
    - Files up to ``HELD_BYTES`` together are read whole and closed: a transaction may have touched
      thousands of partitions, and handles are few.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arctic.columns.integers.integer_index import IntArray
from arctic.errors import FormatError
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes.delete_files import known_offsets
from arctic.mor.request import FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.changes.change_tasks import ChangeUnit
from arctic.table.files import FileKind, TableFile

HELD_BYTES = 64 * 2**20
"""Bytes on disk of small files that are in memory at a time, all rows of them."""
LEAST_ROWS = 1_024
"""Of a file that are looked at together, however many files there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetWindow:
    """Some rows of a transaction, ascending by offset, deletes before inserts of the same one."""

    rows: pa.RecordBatch
    offsets: IntArray
    is_delete: np.ndarray


def offset_windows(
    unit: ChangeUnit, request: ReadRequest, open_file: OpenFile
) -> Iterator[OffsetWindow]:
    """Yield all rows of a transaction's files, window by window.

    Args:
        unit: the files, of one transaction and of nodes that overlap.
        request: the columns, with the file offset.
        open_file: how a path is opened for reading.

    Raises:
        FormatError: a file whose offsets fall or are missing.
        StorageError: a file that is missing or cannot be fetched.
    """
    files = sorted((*unit.deletes, *unit.inserts), key=lambda file: (file.size_bytes, file.path))
    batch_rows = max(LEAST_ROWS, request.batch_rows // max(len(files), 1))
    with ExitStack() as stack:
        shown, held = [], 0
        for file in files:
            held += file.size_bytes
            batches = _batches(file, request, open_file, batch_rows)
            stack.callback(batches.close)
            shown.append(_Shown(file, iter(list(batches)) if held <= HELD_BYTES else batches))
        # By kind and path, so that rows of one offset come out in the same order every time.
        shown.sort(key=lambda each: (not each.is_delete, each.path))
        yield from _windows(shown)


class _Shown:
    """A file, and those of its rows that have been read but not handed on."""

    def __init__(self, file: TableFile, batches: Iterator[pa.RecordBatch]) -> None:
        self.path = file.path
        self.is_delete = file.kind is FileKind.CHANGE_DELETE
        self.is_read = False
        """Whether there are no more rows to read."""
        self._batches = batches
        self._rows: list[tuple[pa.RecordBatch, IntArray]] = []
        self._has_shown = False
        self.last_offset = 0
        """Of the rows that were read so far."""

    def read_more(self) -> None:
        """Read the next rows, or note that there are none."""
        batch = next(self._batches, None)
        if batch is None:
            self.is_read = True
            return
        offsets = known_offsets(batch.column(FILE_OFFSET_FIELD.name), self.path)
        before = [self.last_offset] if self._has_shown else offsets[:1]
        if (np.diff(np.concatenate([before, offsets])) < 0).any():
            raise FormatError(
                f"change file {self.path!r}: '_file_offset' falls from one row to the next; "
                "expected the order of events"
            )
        self._rows.append((batch, offsets))
        self._has_shown = True
        self.last_offset = int(offsets[-1])

    def take_below(self, horizon: int | None) -> Iterator[tuple[pa.RecordBatch, IntArray]]:
        """Hand on the rows with an offset below the horizon; all of them without one."""
        kept = []
        for batch, offsets in self._rows:
            count = len(offsets) if horizon is None else int(np.searchsorted(offsets, horizon))
            if count:
                yield batch.slice(0, count), offsets[:count]
            if count < len(offsets):
                kept.append((batch.slice(count), offsets[count:]))
        self._rows = kept


def _batches(
    file: TableFile, request: ReadRequest, open_file: OpenFile, batch_rows: int
) -> Generator[pa.RecordBatch, None, None]:
    with DataFileReader(file, request, open_file, Touched()) as data:
        for batch in data.every_row(list(request.schema), data.row_groups):
            for start in range(0, len(batch), batch_rows):
                yield batch.slice(start, batch_rows)


def _windows(shown: Sequence[_Shown]) -> Iterator[OffsetWindow]:
    for each in shown:
        each.read_more()
    while True:
        horizon = min((each.last_offset for each in shown if not each.is_read), default=None)
        taken = [
            (rows, offsets, each.is_delete)
            for each in shown
            for rows, offsets in each.take_below(horizon)
        ]
        if taken:
            yield _window(taken)
        if horizon is None:
            return
        for each in shown:
            if not each.is_read and each.last_offset == horizon:
                each.read_more()


def _window(taken: Sequence[tuple[pa.RecordBatch, IntArray, bool]]) -> OffsetWindow:
    (rows,) = pa.Table.from_batches([rows for rows, _, _ in taken]).combine_chunks().to_batches()
    offsets = np.concatenate([offsets for _, offsets, _ in taken])
    is_delete = np.repeat([each for _, _, each in taken], [len(rows) for rows, _, _ in taken])
    if len(taken) > 1:
        # Deletes stand first already; what follows one another, as files do, is sorted fast so.
        order = np.argsort(offsets, kind="stable")
        rows, offsets, is_delete = rows.take(pa.array(order)), offsets[order], is_delete[order]
    return OffsetWindow(rows=rows, offsets=offsets, is_delete=is_delete)
