"""The inserts of a task as one row of each key, where a table makes a row of all rows of its key.

Strategy: the keys of a task are dealt into parts that fit in memory. Of each part the inserts are
read, the deletes of their keys, and from base the rows that these deletes kill: what a key had
before. Sorted by key and event they are folded, and the filter tests what comes out.

Every upsert is a delete and an insert right after it. A delete that no insert follows removes its
key: whatever came before it plays no part.

Rules:
    - All inserts of a key are in one task, with all deletes of it and all rows of base.
    - A row of base is folded iff a delete kills it, so it is never returned a second time unfolded.
    - A filter is tested on folded rows; only what it says of the key may be tested before.

Memory: the inserts and deletes of a part of the keys and their rows of base, about
``max_delete_bytes``, and a few numbers for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from arctic.columns.field_ids import field_id, field_with_id, known_field_id
from arctic.columns.integers.integer_index import IntArray
from arctic.columns.integers.row_set import RowSet
from arctic.columns.key_codes import factorise
from arctic.errors import InternalError
from arctic.mor.batch import make_batch
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes.delete_files import every_delete
from arctic.mor.deletes.delete_index import DeleteIndex, DeleteRows
from arctic.mor.deletes.position_deletes import PositionDeletes
from arctic.mor.files.project import converter
from arctic.mor.filters.evaluate_filter import comparison_type, matching_rows
from arctic.mor.filters.row_filter import of_keys
from arctic.mor.folding.fold_rows import fold_rows
from arctic.mor.key_parts import KeyPart
from arctic.mor.request import FILE_OFFSET_FIELD, TRANSACTION_ID_FIELD, OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind
from arctic.table.filters.predicate import tests_of
from arctic.table.merge_engine import FoldRules

_GROWTH = 8
"""Bytes in memory for each of a Parquet file, with those of base rows and of what is made."""
_EVENT_FIELDS = (TRANSACTION_ID_FIELD, FILE_OFFSET_FIELD)
_BEFORE_ALL = -1
"""Transaction of a row of base, among the events that came after it."""


class FoldedInserts:
    """The folded rows of one task."""

    def __init__(
        self,
        task: NodeTask,
        request: ReadRequest,
        open_file: OpenFile,
        touched: Touched,
        positions: PositionDeletes,
    ) -> None:
        if request.fold is None:
            raise InternalError(f"node task {task.node} folds its rows, but the table has no rules")
        self._task = task
        self._rules: FoldRules = request.fold
        self._asked = request
        self._open_file = open_file
        self._touched = touched
        self._positions = positions
        self._inserts = [part for part in task.data if part.file.kind is FileKind.INSERT]
        columns = pa.schema([*_needed(request, self._rules), *_EVENT_FIELDS])
        self._request = replace(of_keys(request), schema=columns)

    def rows_of(self, file_task: FileTask) -> Iterator[pa.RecordBatch]:
        """Yield all folded rows that match the filter in place of the first file of inserts."""
        for part in self._parts() if file_task is self._inserts[0] else ():
            events = self._events(part)
            if events is not None:
                yield from self._asked_rows(self._folded(events))

    def _parts(self) -> Iterator[KeyPart]:
        # Deletes count too: many may remove the few keys that these inserts bring, and others.
        files = [*(part.file for part in self._inserts), *self._task.change_deletes]
        size_bytes = _GROWTH * sum(file.size_bytes for file in files)
        rows = sum(file.record_count for file in files)
        count = min(max(1, rows), -(-size_bytes // self._request.max_delete_bytes))
        return (KeyPart(number, count) for number in range(count))

    def _events(self, part: KeyPart) -> _Events | None:
        inserts = self._rows(
            batch
            for task in self._inserts
            for batch in self._read(task, np.empty(0, np.int64), None, part)
        )
        if not inserts.num_rows:
            return None
        deletes = [
            each
            for rows in every_delete(self._task.change_deletes, self._request, self._open_file)
            if len((each := _of_part(rows, part, self._request)).file_offsets)
        ]
        if not deletes:
            raise InternalError(f"node task {self._task.node} has inserts without their deletes")
        index = DeleteIndex(_joined(deletes))
        stored = self._rows(
            batch for rival in self._task.rivals for batch in self._stored(rival, index, part)
        )
        return _Events(inserts=inserts, stored=stored, deletes=_joined(deletes))

    def _read(
        self,
        file_task: FileTask,
        positions: IntArray,
        dead: RowSet | None,
        part: KeyPart,
    ) -> Iterator[pa.RecordBatch]:
        with DataFileReader(
            file_task.file, self._request, self._open_file, self._touched
        ) as reader:
            for batch in reader.survivors(positions, dead, None):
                yield part.of(batch, self._request)

    def _stored(
        self, rival: FileTask, index: DeleteIndex, part: KeyPart
    ) -> Iterator[pa.RecordBatch]:
        file = rival.file
        if file.kind is not FileKind.BASE:
            raise InternalError(f"file {file.path!r} of kind {file.kind} is to be folded")
        with DataFileReader(file, self._request, self._open_file, Touched()) as reader:
            killed = RowSet(reader.row_count)
            found = False
            for rows in reader.killed_rows(index):
                killed.add(rows)
                found = found or bool(len(rows))
        if found:
            positions = self._positions.rows(file.path, rival.position_deletes)
            yield from self._read(rival, positions, killed.complement(), part)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(batches, schema=self._request.schema)

    def _folded(self, events: _Events) -> pa.Table:
        rows, starts = events.in_order(self._request.key.names)
        columns = rows.drop_columns([field.name for field in _EVENT_FIELDS])
        if not rows.num_rows:
            return columns
        numbers = [known_field_id(field) for field in columns.schema]
        return fold_rows(columns, numbers, starts, self._rules, key=self._request.key.names)

    def _asked_rows(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        names = {known_field_id(field): field.name for field in rows.schema}
        asked = self._asked
        wanted = [(names[known_field_id(field)], field) for field in asked.schema]
        for batch in rows.combine_chunks().to_batches(max_chunksize=asked.batch_rows):
            if asked.row_filter is not None:
                batch = batch.filter(pa.array(_matching(batch, names, asked)))
            if len(batch):
                columns = [batch.column(name) for name, _ in wanted]
                yield make_batch(columns, asked.schema, len(batch))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """What came to some keys."""

    inserts: pa.Table
    stored: pa.Table
    """Rows of base."""
    deletes: DeleteRows

    def in_order(self, key: list[str]) -> tuple[pa.Table, IntArray]:
        """Return the rows that count by key and event, and where each key begins."""
        rows = pa.concat_tables([self.stored, self.inserts])
        own = rows.select(key)
        keys = pa.concat_tables([own, self.deletes.keys.cast(own.schema)])
        codes, _ = factorise(keys)
        stored, inserted, count = self.stored.num_rows, self.inserts.num_rows, len(codes)
        transactions, offsets = (
            rows.column(field.name).to_numpy()[stored:] for field in _EVENT_FIELDS
        )
        before = np.full(stored, _BEFORE_ALL)
        transactions = np.concatenate([before, transactions, self.deletes.transaction_ids])
        offsets = np.concatenate([before, offsets, self.deletes.file_offsets])
        order = np.lexsort((offsets, transactions, codes))
        codes, transactions, offsets = codes[order], transactions[order], offsets[order]
        is_delete = order >= stored + inserted
        follows = np.append(
            (codes[1:] == codes[:-1])
            & (transactions[1:] == transactions[:-1])
            & (offsets[1:] == offsets[:-1] + 1)
            & ~is_delete[1:],
            False,
        )[:count]
        # Of each key only what comes after the last delete that no insert follows.
        places = np.arange(count)
        removal = np.where(is_delete & ~follows, places, -1)
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        last = np.repeat(np.maximum.reduceat(removal, starts), np.diff(np.append(starts, count)))
        kept = ~is_delete & (places > last)
        codes = codes[kept]
        begins = np.append(True, codes[1:] != codes[:-1])[: len(codes)]
        return rows.take(pa.array(order[kept])), np.flatnonzero(begins)


def _needed(request: ReadRequest, rules: FoldRules) -> list[pa.Field]:
    """Return the columns that are asked for, the key, and what others go by; all may be null."""
    asked = {field_id(field): field for field in (*request.schema, *request.key)}
    tested = (test.field_id for test in tests_of(request.row_filter))
    numbers = rules.needed_for(frozenset([*(each for each in asked if each is not None), *tested]))
    others = {known_field_id(field): field for field in request.columns}
    return [
        (asked[number] if number in asked else others[number]).with_nullable(True)
        for number in sorted(numbers)
    ]


def _matching(batch: pa.RecordBatch, names: dict[int, str], asked: ReadRequest) -> np.ndarray:
    columns = {}
    for number in dict.fromkeys(test.field_id for test in tests_of(asked.row_filter)):
        source = batch.schema.field(names[number])
        target = field_with_id(str(number), comparison_type(source.type), number)
        convert = converter(source, target, subject="a filter")
        columns[number] = convert(batch.column(source.name))
    assert asked.row_filter is not None
    return matching_rows(asked.row_filter, columns, len(batch))


def _of_part(rows: DeleteRows, part: KeyPart, request: ReadRequest) -> DeleteRows:
    if part.count == 1:
        return rows
    batches = rows.keys.combine_chunks().to_batches()
    mask = part.mask(batches[0], request) if batches else None
    kept = np.empty(0, np.int64) if mask is None else np.flatnonzero(mask)
    return DeleteRows(
        rows.keys.take(pa.array(kept)), rows.transaction_ids[kept], rows.file_offsets[kept], ()
    )


def _joined(rows: list[DeleteRows]) -> DeleteRows:
    return DeleteRows(
        pa.concat_tables([each.keys for each in rows]),
        np.concatenate([each.transaction_ids for each in rows]),
        np.concatenate([each.file_offsets for each in rows]),
        (),
    )
