"""A stream of rows becomes base files: of an overwrite, or of a table without a key.

Rules:
    - Base holds one row of each key. Of several in the input the last event stays.
    - Rows of a keyed table are sorted by key inside a node, so the files of a node do not
      overlap and a reader can tell from their bounds which deletes concern which.

Memory: a chunk of rows, if the table has no key or the input comes sorted. Else the task's share
of the input, twice while it is written.

The caller guarantees that all rows of a key come to one task.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.mor.keys import factorise
from arctic.table.files import FileKind
from arctic.write.collapse import collapse
from arctic.write.conform import Conform
from arctic.write.files import DataFiles, Destination
from arctic.write.gather import RowBuffer, take_rows
from arctic.write.order import check_order, event_order
from arctic.write.route import Partitions, Places, find_partitions, group_rows, hash_keys
from arctic.write.sorted_stream import SortedStream
from arctic.write.target import (
    TaskId,
    TaskResult,
    WriteMode,
    WriteRequest,
    WriteTarget,
)


class BaseWriter:
    """Writes the base files of one task; see ``arctic.write.writer.open_writer``."""

    def __init__(
        self, target: WriteTarget, task: TaskId, *, request: WriteRequest, conform: Conform
    ) -> None:
        self._target = target
        self._task = task
        self._request = request
        self._conform = conform
        self._files = DataFiles(
            target,
            task,
            schemas={FileKind.BASE: target.schema},
            transaction_id=request.transaction_id,
        )
        self._mask = target.options.base_mask if target.key else 0
        self._buffer = RowBuffer(
            target.options,
            everything=bool(target.key) and not request.sorted_input,
            exact_columns={*target.key, *target.partition_sources},
        )
        self._stream = SortedStream(
            key=target.key, event_order=request.event_order, table_name=target.table.name
        )
        self._rows_in = 0
        self._inserts = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows.

        Raises:
            InvalidInputError: rows that do not fit the table, naming column and key.
            StorageError: a file could not be created or written.
            InternalError: rows that were announced as sorted are not.
        """
        self._rows_in += batch.num_rows
        for piece in self._buffer.pieces(batch):
            rows = self._conform.apply(piece)
            describe_row = partial(self._conform.describe_row, rows)
            check_order(rows, self._request.event_order, describe_row=describe_row)
            self._conform.check_required(rows, None)
            self._buffer.add(rows, None)
            if self._buffer.is_full:
                self._write_chunk(self._buffer.drain().rows, is_last=False)

    def close(self) -> TaskResult:
        """Complete the files.

        Raises:
            StorageError: a file could not be created or written.
            InternalError: rows that were announced as sorted are not.
        """
        rows = self._buffer.drain().rows if self._buffer.row_count else None
        self._write_chunk(rows, is_last=True)
        return TaskResult(
            task=self._task,
            files=self._files.close(),
            rows_in=self._rows_in,
            inserts=self._inserts,
            deletes=0,
        )

    def abort(self) -> None:
        """Give up, and remove what was written."""
        self._files.abort()

    def _write_chunk(self, rows: pa.Table | None, *, is_last: bool) -> None:
        if self._target.key and self._request.sorted_input:
            rows = self._stream.last_of_each_key(rows, is_last=is_last)
            if rows is not None:
                places = self._places(rows)
                self._stream.check_ascending(rows, self._domains(places))
                self._write_rows(rows, places, np.arange(rows.num_rows, dtype=np.int64))
        elif rows is not None and self._target.key:
            numbers = self._last_of_each_key(rows)
            self._write_rows(rows, self._places(rows), numbers, sort=True)
        elif rows is not None:
            every = np.arange(rows.num_rows, dtype=np.int64)
            self._write_rows(rows, self._places(rows), every)

    def _last_of_each_key(self, rows: pa.Table) -> np.ndarray:
        codes, key_count = factorise(rows.select(list(self._target.key)))
        survivors = collapse(
            codes,
            key_count,
            None,
            order=event_order(rows, self._request.event_order),
            mode=WriteMode.OVERWRITE,
            upsert_inserts=True,
        )
        return survivors.last

    def _places(self, rows: pa.Table) -> Places:
        return Places(
            partitions=find_partitions(rows, self._target),
            node_indices=hash_keys(rows, self._target) & self._mask,
            mask=self._mask,
        )

    def _domains(self, places: Places) -> list[tuple[Hashable, np.ndarray]]:
        """Return groups of rows such that equal keys are always in one group."""
        if self._target.keys_move:
            anywhere = Partitions(values=((),), codes=np.zeros_like(places.partitions.codes))
            places = replace(places, partitions=anywhere)
        return [((group.partition, group.node), group.rows) for group in group_rows(places)]

    def _write_rows(
        self, rows: pa.Table, places: Places, numbers: np.ndarray, *, sort: bool = False
    ) -> None:
        payload = rows.select(self._target.schema.names)
        by_key = [(name, "ascending") for name in self._target.key]
        for group in group_rows(places.take(numbers)):
            chosen = numbers[group.rows]
            if sort:
                keys = take_rows(payload.select(list(self._target.key)), chosen)
                chosen = chosen[pc.sort_indices(keys, sort_keys=by_key).to_numpy()]
            self._files.add(
                Destination(partition=group.partition, node=group.node, kind=FileKind.BASE),
                take_rows(payload, chosen),
            )
        self._inserts += len(numbers)
