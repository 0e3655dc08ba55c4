"""A stream of rows becomes insert and change-delete files of a keyed table.

Strategy: rows are checked, then gathered to chunks. What becomes of a chunk is a kind of its own:
appended rows are inserts (``AppendedChunks``), events are first held against those of their keys
(``event_chunks``).

Three kinds of write gather the whole input of the task first, so their memory is the task's share
of the write, twice while it is written: those of a table whose keys may change their partition
(a chunk would not know where the chunk before left the row), those whose events come in no order,
and replays that keep stored values (a chunk would not know what the chunk before deleted). Other
writes that keep stored values look each chunk up, and hold what they find with it.

The caller guarantees that all events of a key come to one task. Where it demands something of keys,
those of the task are held until its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import check_order
from arctic.table.merge_engine import FoldRules, MergeEngine
from arctic.writing.change_output import ChangeOutput
from arctic.writing.conform.conform import Conform
from arctic.writing.event_chunks import AppendedChunks, EventChunks
from arctic.writing.rows.actions import is_insert, read_actions, refuse_images, refuse_removals
from arctic.writing.rows.collapse import first_offset
from arctic.writing.rows.fold_input import fold_input
from arctic.writing.rows.gather import ChunkOrder, Gathered, RowBuffer
from arctic.writing.rows.kept_columns import KeptColumns
from arctic.writing.rows.key_count import KeyCount
from arctic.writing.target import Locate, TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest

_LOOKUP_CHUNKS = 4
"""So many times the rows of a chunk where each is looked up: it reads the table anew."""


class ChangeWriter:
    """Writes the changes of one task; see ``arctic.writing.writer.open_writer``."""

    def __init__(
        self,
        target: WriteTarget,
        task: TaskId,
        *,
        request: WriteRequest,
        conform: Conform,
        locate: Locate | None,
    ) -> None:
        self._task = task
        self._files = ChangeOutput(target, task)
        appends = request.mode is WriteMode.APPEND and request.action_column is None
        # Of deletes alone, any order is as good as another, unless they carry their own.
        ordered = bool(request.stored_order) or request.mode is not WriteMode.DELETE
        order = request.event_order if ordered and not appends else ()
        # What the table orders needs no order between chunks.
        in_write = bool(order) and not request.stored_order
        kept = None
        if locate is not None and conform.keeps:
            kept = KeptColumns(conform.missing_columns, key=target.key, locate=locate)
        replays = kept is not None and request.action_column is not None
        unordered = in_write and not request.sorted_input
        self._incoming = _Incoming(
            target, request=request, conform=conform, order=order, locates=locate is not None
        )
        chunks = 1 if kept is None else _LOOKUP_CHUNKS
        everything = unordered or replays or (target.keys_move and not appends)
        self._buffer = RowBuffer(
            replace(target.options, chunk_rows=target.options.chunk_rows * chunks),
            everything=everything,
            joins=True,
            exact_columns={*target.key, *target.partition_sources, *request.stored_columns},
            is_bounded=not everything,
        )
        self._chunks: AppendedChunks | EventChunks
        if appends:
            self._chunks = AppendedChunks(self._files)
        else:
            self._chunks = EventChunks(
                self._files,
                request=request,
                order=ChunkOrder(
                    order,
                    announced=request.sorted_input and in_write,
                    table_name=target.table.name,
                ),
                kept=kept,
                locate=locate,
                tells_partition=conform.has_partition_sources,
            )
        self._next_offset = first_offset(task)
        self._counted = None
        if request.key_rule is not None:
            self._counted = KeyCount(request.key_rule, target=target, locate=locate)
        self._rows_in = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows.

        Raises:
            InvalidInputError: rows that do not fit the table, naming column and key.
            StorageError: a file could not be created or written.
        """
        self._rows_in += batch.num_rows
        for piece in self._buffer.pieces(batch):
            rows, actions = self._incoming.checked(piece)
            if self._counted is not None:
                self._counted.add(rows, actions)
            self._buffer.add(rows, actions)
            if self._buffer.is_full:
                self._write_chunk(self._buffer.drain())

    def close(self) -> TaskResult:
        """Complete the files.

        Raises:
            StorageError: a file could not be created or written.
            InvalidInputError: a key that the rule of the request does not allow.
        """
        if self._counted is not None:
            self._counted.check()
        if self._buffer.row_count:
            self._write_chunk(self._buffer.drain(), is_last=True)
        return TaskResult(
            task=self._task,
            files=self._files.close(),
            rows_in=self._rows_in,
            inserts=self._files.inserts,
            deletes=self._files.deletes,
            renewed=self._chunks.renewed,
        )

    def abort(self) -> None:
        """Give up, and remove what was written."""
        self._files.abort()

    def _write_chunk(self, chunk: Gathered, *, is_last: bool = False) -> None:
        is_first = self._next_offset == first_offset(self._task)
        if is_first and is_last:
            self._files.join_few(chunk.rows)
        chunk = self._chunks.folded(chunk)
        if is_first:
            self._files.go_deeper(chunk.rows.num_rows, is_all=is_last)
        self._next_offset = self._chunks.write(chunk, self._next_offset)


class _Incoming:
    """Checks rows one batch after the other, and reads what each of them does."""

    def __init__(
        self,
        target: WriteTarget,
        *,
        request: WriteRequest,
        conform: Conform,
        order: tuple[str, ...],
        locates: bool,
    ) -> None:
        self._schema, self._key = target.schema, target.key
        self._request = request
        self._conform = conform
        self._order = order
        adds = request.fold is not None and request.fold.takes_off
        self._added: FoldRules | None = None
        """By what rows are added up; None: they are not, so none can be taken off."""
        if adds and request.mode is not WriteMode.DELETE:
            self._added = request.fold
        # Without a search, a delete is only right if its row says where the old row is.
        trusted = target.keys_move and not locates
        self._in_every_row = target.partition_sources if trusted else ()

    def checked(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray | None]:
        """Return rows as the table has them, and their action codes, if they have any."""
        rows = self._conform.apply(batch)
        describe_row = partial(self._conform.describe_row, rows)
        if self._order:
            check_order(rows, self._order, describe_row=describe_row)
        actions = self._actions(rows, describe_row)
        if self._added is not None:
            rows, actions = fold_input(
                rows,
                actions,
                schema=self._schema,
                key=self._key,
                rules=self._added,
                describe_row=describe_row,
            )
        self._check_required(rows, actions)
        return rows, actions

    def _actions(
        self, rows: pa.RecordBatch, describe_row: Callable[[int], str]
    ) -> np.ndarray | None:
        name = self._request.action_column
        if name is None:
            return None
        actions = read_actions(rows.column(name), name=name, describe_row=describe_row)
        if self._request.stored_order:
            refuse_images(actions, name=name, describe_row=describe_row)
        merges = self._request.engine is not MergeEngine.LAST_ROW and not self._request.sets_rows
        if merges and self._added is None:
            refuse_removals(actions, name=name, describe_row=describe_row)
        return actions

    def _check_required(self, rows: pa.RecordBatch, actions: np.ndarray | None) -> None:
        inserted = None if actions is None else is_insert(actions)
        if self._request.mode is WriteMode.DELETE:
            inserted = np.zeros(rows.num_rows, dtype=bool)
        self._conform.check_required(rows, inserted, in_every_row=self._in_every_row)
