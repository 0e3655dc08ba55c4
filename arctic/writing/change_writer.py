"""A stream of events becomes insert and change-delete files.

Strategy: rows are gathered to chunks; of each key in a chunk at most one delete and one insert
are left; each goes to the file of its partition and node. A later chunk has higher offsets, so
its delete kills the insert of an earlier one, and no key is remembered between chunks.

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
from arctic.columns.key_codes import factorise
from arctic.table.merge_engine import MergeEngine
from arctic.writing.change_output import ChangeOutput
from arctic.writing.conform.conform import Conform
from arctic.writing.route import Places, hash_keys, nodes_under
from arctic.writing.rows.actions import is_insert, read_actions, refuse_images, refuse_removals
from arctic.writing.rows.collapse import (
    SeenKeys,
    Survivors,
    assign_offsets,
    collapse,
    first_offset,
    keep_events,
)
from arctic.writing.rows.delete_rows import deletes_in_place
from arctic.writing.rows.fold_input import fold_input
from arctic.writing.rows.folded_chunk import folded_chunk
from arctic.writing.rows.gather import ChunkOrder, Gathered, RowBuffer
from arctic.writing.rows.kept_columns import KeptColumns
from arctic.writing.rows.key_count import KeyCount
from arctic.writing.rows.moving_keys import deletes_across_partitions, old_rows
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
        self._request = request
        self._conform = conform
        self._locate = locate
        self._files = ChangeOutput(target, task)
        adds = request.fold is not None and request.fold.takes_off
        self._added = request.fold if adds and request.mode is not WriteMode.DELETE else None
        """By what rows are added up; None: they are not, so none can be taken off."""
        folds = target.table.merge_engine.folds
        self._sets_apart = folds and request.sets_rows
        """Whether a key's insert begins anew: it does not follow right after the delete."""
        self._keeps_all = request.mode is WriteMode.APPEND and request.action_column is None
        # Of deletes alone, any order is as good as another, unless they carry their own.
        ordered = bool(request.stored_order) or request.mode is not WriteMode.DELETE
        self._event_order = request.event_order if ordered and not self._keeps_all else ()
        # What the table orders needs no order between chunks.
        in_write = bool(self._event_order) and not request.stored_order
        unordered = in_write and not request.sorted_input
        self._kept = None
        if locate is not None and conform.keeps:
            self._kept = KeptColumns(conform.missing_columns, key=target.key, locate=locate)
        replays = self._kept is not None and request.action_column is not None
        chunks = 1 if self._kept is None else _LOOKUP_CHUNKS
        self._buffer = RowBuffer(
            replace(target.options, chunk_rows=target.options.chunk_rows * chunks),
            everything=unordered or replays or (target.keys_move and not self._keeps_all),
            joins=True,
            exact_columns={*target.key, *target.partition_sources},
        )
        self._next_offset = first_offset(task)
        self._order = ChunkOrder(
            self._event_order,
            announced=request.sorted_input and in_write,
            table_name=target.table.name,
        )
        self._seen = SeenKeys()
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
            rows = self._conform.apply(piece)
            describe_row = partial(self._conform.describe_row, rows)
            check_order(rows, self._event_order, describe_row=describe_row)
            actions = self._actions(rows, describe_row)
            if self._added is not None:
                rows, actions = fold_input(
                    rows,
                    actions,
                    schema=self._target.schema,
                    key=self._target.key,
                    rules=self._added,
                    describe_row=describe_row,
                )
            self._check_required(rows, actions)
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
            renewed=None if self._kept is None else self._kept.renewed(),
        )

    def abort(self) -> None:
        """Give up, and remove what was written."""
        self._files.abort()

    @property
    def _target(self) -> WriteTarget:
        """The table, with the nodes that its changes have come to."""
        return self._files.target

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
        # Without a search, a delete is only right if its row says where the old row is.
        trusted = self._target.keys_move and self._locate is None
        sources = self._target.partition_sources if trusted else ()
        self._conform.check_required(rows, inserted, in_every_row=sources)

    def _write_chunk(self, chunk: Gathered, *, is_last: bool = False) -> None:
        is_first = self._next_offset == first_offset(self._task)
        if is_first and is_last:
            self._files.join_few(chunk.rows)
        if self._request.fold is not None and self._request.mode is not WriteMode.DELETE:
            chunk = folded_chunk(
                chunk, self._order.of(chunk.rows), self._target, self._request.fold
            )
        rows = chunk.rows
        if is_first:
            self._files.go_deeper(rows.num_rows, is_all=is_last)
        hashes = hash_keys(rows, self._target)
        if self._keeps_all:
            every = np.arange(rows.num_rows, dtype=np.int64)
            places = self._places(rows, hashes)
            self._files.write_inserts(rows, every, self._next_offset + every, places)
            self._next_offset += rows.num_rows
            return
        survivors = self._survivors(chunk, hashes)
        locate = self._locate
        if self._kept is not None:
            rows, locate = self._kept.fill(rows, survivors)
        places = self._places(rows, hashes)
        delete_offsets, insert_offsets, self._next_offset = assign_offsets(
            survivors, self._next_offset, apart=self._sets_apart
        )
        if self._target.keys_move:
            nodes = nodes_under(self._target.options.change_mask, hashes)
            self._delete_wherever(rows, survivors, delete_offsets, places, nodes, locate)
        elif places is not None:
            deletes = deletes_in_place(survivors, delete_offsets, places)
            self._files.write_deletes(rows, deletes, None)
        kept = survivors.inserts
        self._files.write_inserts(rows, survivors.last[kept], insert_offsets[kept], places)

    def _places(self, rows: pa.Table, hashes: np.ndarray) -> Places | None:
        return self._files.places(rows, hashes) if self._conform.has_partition_sources else None

    def _survivors(self, chunk: Gathered, hashes: np.ndarray) -> Survivors:
        codes, key_count = factorise(chunk.rows.select(list(self._target.key)))
        upsert_inserts = self._target.options.upsert_inserts
        # What is folded has each key once.
        order = None if self._request.fold is not None else self._order.of(chunk.rows)
        if self._request.engine is MergeEngine.FIRST_ROW:
            # Of each key the last of these is what is left.
            order = (np.arange(chunk.rows.num_rows) if order is None else order)[::-1]
        only_deletes = chunk.actions is None and self._request.mode is WriteMode.DELETE
        if self._target.options.keeps_all and not only_deletes:
            survivors = keep_events(
                codes, chunk.actions, order=order, upsert_inserts=upsert_inserts
            )
        else:
            survivors = collapse(
                codes,
                key_count,
                chunk.actions,
                order=order,
                mode=self._request.mode,
                upsert_inserts=upsert_inserts,
                finds_renewed=self._kept is not None,
            )
        if self._sets_apart:
            # The delete is by key: with the old row it would have the offset of the insert.
            survivors = replace(survivors, images=np.zeros_like(survivors.images))
        if upsert_inserts:
            return survivors
        # An insert needs no delete, unless an earlier chunk of this very write inserted the key.
        return self._seen.with_deletes(survivors, hashes)

    def _delete_wherever(
        self,
        rows: pa.Table,
        survivors: Survivors,
        offsets: np.ndarray,
        places: Places | None,
        node_ids: np.ndarray,
        locate: Locate | None,
    ) -> None:
        tells = places is not None and self._request.mode is WriteMode.DELETE
        located, owners = old_rows(
            rows, survivors, target=self._target, locate=locate, chunk_tells=tells
        )
        deletes = deletes_across_partitions(
            survivors,
            offsets,
            node_ids=node_ids,
            given=None if places is None or tells else places.partitions,
            located=located,
            owners=owners,
            target=self._target,
        )
        self._files.write_deletes(rows, deletes, located)
