"""A stream of rows becomes base files: of an overwrite, or of a table without a key.

Rules:
    - Base holds one row of each key. Of several in the input the last event stays.
    - Rows of a keyed table are sorted by key inside a node, so the files of a node do not
      overlap and a reader can tell from their bounds which deletes concern which. Where the table
      has sort columns they are sorted by these instead, unless the input comes sorted by key.

Strategy: of input in no order, what there is room for is held. More than that waits on local disk
in sorted runs, which are merged by ranges of keys when all of it is there.

Memory: what ``files`` holds. With it a chunk of rows, if the table has no key or the input comes
sorted. Else half of ``buffer_bytes`` of rows, their copy included, then what ``key_runs`` says of
the merge. With sort columns, partitions that do not follow from the key, or a key of floating-point
numbers, or of rows that are in memory anyway, it is the task's share of the input, and once more
where it comes in no order.

The caller guarantees that all rows of a key come to one task.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.curves import Curve
from arctic.columns.event_order import check_order
from arctic.columns.row_order import ascending
from arctic.errors import InvalidInputError
from arctic.options.sort_terms import SortTerm
from arctic.table.files import FileKind, Partition
from arctic.table.merge_engine import MergeEngine
from arctic.tree.node import TreeNode
from arctic.writing.conform.conform import Conform
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.route import (
    Group,
    Partitions,
    Places,
    base_deepened,
    base_places,
    few_joined,
    find_partitions,
    group_rows,
    hash_keys,
)
from arctic.writing.rows.gather import Picked, RowBuffer, take_rows
from arctic.writing.rows.key_runs import KeyRuns
from arctic.writing.rows.last_by_key import last_by_key
from arctic.writing.rows.sorted_stream import SortedStream
from arctic.writing.target import TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import WriteRequest

_BESIDE = 8
"""Of places that rows wait for, so many are written side by side, so that threads have something to
do. With all of them, thousands of partitions would each have a file open, and little in it."""


class BaseWriter:
    """Writes the base files of one task; see ``arctic.writing.writer.open_writer``."""

    def __init__(
        self, target: WriteTarget, task: TaskId, *, request: WriteRequest, conform: Conform
    ) -> None:
        self._target = target
        self._task = task
        self._request = request
        self._conform = conform
        self._files = NodeFiles(
            target,
            task,
            schemas={FileKind.BASE: target.schema},
            transaction_id=request.transaction_id,
        )
        self._is_begun = False
        self._sorts = bool(target.key) and not request.sorted_input
        self._buffer = RowBuffer(
            target.options,
            everything=self._sorts,
            joins=False,
            exact_columns={*target.key, *target.partition_sources},
            is_bounded=target.sorts_in_runs or not self._sorts,
        )
        self._runs: KeyRuns | None = None
        self._place_numbers: dict[tuple[Partition, TreeNode], int] = {}
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
            if self._buffer.is_full and self._sorts:
                self._spill(self._buffer.drain().rows, rows.schema)
            elif self._buffer.is_full:
                self._write_chunk(self._buffer.drain().rows, is_last=False)

    def close(self) -> TaskResult:
        """Complete the files.

        Raises:
            StorageError: a file could not be created or written.
            InvalidInputError: a key in several rows, which the table would merge.
            InternalError: rows that were announced as sorted are not.
        """
        if self._runs is not None:
            self._write_runs(self._runs)
        else:
            rows = self._buffer.drain().rows if self._buffer.row_count else None
            self._write_chunk(rows, is_last=True)
        if self._request.engine is not MergeEngine.LAST_ROW and self._inserts < self._rows_in:
            raise InvalidInputError(
                f"overwrite of table {self._target.table.name!r}: {self._rows_in:,} rows have "
                f"{self._inserts:,} keys, and the merge engine {self._request.engine.value!r} "
                "takes rows of one key from upserts only; give each key once, or write the rows "
                "with mode upsert"
            )
        return TaskResult(
            task=self._task,
            files=self._files.close(),
            rows_in=self._rows_in,
            inserts=self._inserts,
            deletes=0,
        )

    def abort(self) -> None:
        """Give up, and remove what was written."""
        if self._runs is not None:
            self._runs.close()
        self._files.abort()

    def _spill(self, rows: pa.Table, schema: pa.Schema) -> None:
        if self._runs is None:
            events = self._request.event_order
            self._runs = KeyRuns(self._target.key, schema, events=events)
            self._target = base_deepened(self._target, rows.num_rows, is_all=False)
        self._runs.add(rows, self._blocks(rows))

    def _blocks(self, rows: pa.Table) -> npt.NDArray[np.int32]:
        """Return a number for each row, the same for those that are written side by side."""
        blocks = np.zeros(rows.num_rows, np.int32)
        options = self._target.options
        is_few = options.base_mask < _BESIDE and not options.trees and not options.deep_masks
        if is_few and not self._target.table.partition_fields:
            return blocks
        for group in group_rows(self._places(rows)):
            place = (group.partition, group.node)
            number = self._place_numbers.setdefault(place, len(self._place_numbers))
            blocks[group.rows] = number // _BESIDE
        return blocks

    def _write_runs(self, runs: KeyRuns) -> None:
        if self._buffer.row_count:
            rows = self._buffer.drain().rows
            runs.add(rows, self._blocks(rows))
        for rows, numbers in runs.ranges():
            self._write_rows(rows, self._places(rows), numbers)
        runs.close()

    def _write_chunk(self, rows: pa.Table | None, *, is_last: bool) -> None:
        if rows is not None and not self._is_begun:
            if is_last:
                self._target = few_joined(self._target, rows)
            self._target = base_deepened(self._target, rows.num_rows, is_all=is_last)
            self._is_begun = True
        if self._target.key and self._request.sorted_input:
            rows = self._stream.last_of_each_key(rows, is_last=is_last)
            if rows is not None:
                places = self._places(rows)
                self._stream.check_ascending(rows, self._domains(places))
                self._write_rows(rows, places)
        elif rows is not None and self._sorts:
            self._write_everything(rows)
        elif rows is not None:
            self._write_rows(rows, self._places(rows))

    def _write_everything(self, rows: pa.Table) -> None:
        """Write the last row of each key, sorted by key inside a node."""
        numbers = last_by_key(rows, self._target.key, events=self._request.event_order)
        if self._target.options.sort_by:
            numbers = sorted_rows(rows, numbers, self._target.options.sort_by)
        if numbers is None:
            places, count = self._places(rows), rows.num_rows
        else:
            # Rows in any order are taken from all over the table: faster from one piece.
            rows = rows.combine_chunks()
            places, count = self._places(rows).take(numbers), len(numbers)
        payload = rows.select(self._target.schema.names)
        self._files.add_whole(
            [
                (
                    self._destination(group),
                    Picked.by_number(
                        payload, group.rows if numbers is None else numbers[group.rows]
                    ),
                )
                for group in group_rows(places)
            ]
        )
        self._inserts += count

    def _places(self, rows: pa.Table) -> Places:
        hashes = hash_keys(rows, self._target)
        return base_places(find_partitions(rows, self._target), hashes, self._target)

    def _domains(self, places: Places) -> list[tuple[Hashable, np.ndarray]]:
        """Return groups of rows such that equal keys are always in one group."""
        if self._target.keys_move:
            anywhere = Partitions(values=((),), codes=np.zeros_like(places.partitions.codes))
            places = replace(places, partitions=anywhere)
        return [((group.partition, group.node), group.rows) for group in group_rows(places)]

    def _write_rows(
        self, rows: pa.Table, places: Places, numbers: np.ndarray | None = None
    ) -> None:
        """Write rows that others may follow: those with some numbers, in their order; None: all."""
        payload = rows.select(self._target.schema.names)
        if self._target.options.sort_by and not self._target.key:
            # Nobody relies on their order: those of a chunk can lie as optimizing would lay them.
            numbers = sorted_rows(rows, None, self._target.options.sort_by)
        count = rows.num_rows
        if numbers is not None:
            count = len(numbers)
            in_order = group_rows(places.take(numbers))
            groups = [replace(group, rows=numbers[group.rows]) for group in in_order]
        else:
            groups = group_rows(places)
        self._files.add_made(
            [self._destination(group) for group in groups],
            [partial(take_rows, payload, group.rows) for group in groups],
            rows=count,
        )
        self._inserts += count

    def _destination(self, group: Group) -> Destination:
        return Destination(partition=group.partition, node=group.node, kind=FileKind.BASE)


def sorted_rows(
    rows: pa.Table, numbers: npt.NDArray[np.int64] | None, terms: Sequence[SortTerm]
) -> npt.NDArray[np.int64]:
    """Return the numbers of rows in order; rows that are equal stay as they come.

    Args:
        rows: with all sort columns.
        numbers: those that are wanted; None: all.
        terms: most significant first.
    """
    names = [name for term in terms for name in term]
    wanted = rows.select(names)
    wanted = wanted if numbers is None else wanted.take(pa.array(numbers))
    columns = []
    for term in terms:
        values = [wanted.column(name) for name in term]
        curve = None if term.curve is None else Curve.of(values, kind=term.curve)
        columns.append(values[0] if curve is None else curve.values(values))
    keyed = pa.table(columns, names=[str(place) for place in range(len(columns))])
    order = np.asarray(ascending(keyed, keyed.column_names).to_numpy()).astype(np.int64)
    return order if numbers is None else numbers[order]
