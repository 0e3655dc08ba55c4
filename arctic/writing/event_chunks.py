"""A chunk of rows becomes deletes and inserts: of events what is left of them, appended rows all.

Of each key in a chunk of events at most one delete and one insert are left; each goes to the file
of its partition and node. A later chunk has higher offsets, so its delete kills the insert of an
earlier one, and no key is remembered between chunks.

Where a table folds all rows of its key, those of a chunk are folded before they are written. A read
folds on with the same result, and the files are smaller.

Must not know: how rows are gathered to chunks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.columns.key_codes import factorise
from arctic.mor.folding.fold_rows import fold_rows
from arctic.table.merge_engine import FoldRules, MergeEngine
from arctic.writing.change_output import ChangeOutput
from arctic.writing.route import Places, hash_keys, nodes_under
from arctic.writing.rows.actions import Action
from arctic.writing.rows.collapse import (
    SeenKeys,
    Survivors,
    assign_offsets,
    collapse,
    keep_events,
)
from arctic.writing.rows.delete_rows import ChangeDeletes, deletes_in_place
from arctic.writing.rows.gather import ChunkOrder, Gathered
from arctic.writing.rows.kept_columns import KeptColumns
from arctic.writing.rows.moving_keys import deletes_across_partitions, old_rows
from arctic.writing.target import Locate, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest


class EventChunks:
    """Writes one chunk of events after the other."""

    def __init__(
        self,
        files: ChangeOutput,
        *,
        request: WriteRequest,
        order: ChunkOrder,
        kept: KeptColumns | None,
        locate: Locate | None,
        tells_partition: bool,
    ) -> None:
        """Begin with the files of a task.

        Args:
            files: that the rows go to.
            request: what is asked for.
            order: of the events.
            kept: fills columns that the rows lack; None: they lack none that is kept.
            locate: finds the current rows of keys; None: nobody does.
            tells_partition: whether rows have all that their partition is made of.
        """
        self._files = files
        self._request = request
        self._order = order
        self._kept = kept
        self._locate = locate
        self._tells_partition = tells_partition
        folds = files.target.table.merge_engine.folds
        self._sets_apart = folds and request.sets_rows
        """Whether a key's insert begins anew: it does not follow right after the delete."""
        self._seen = SeenKeys()

    @property
    def renewed(self) -> pa.Table | None:
        """Keys of rows that kept nothing, because they are new ones; None: there are none."""
        return None if self._kept is None else self._kept.renewed()

    def folded(self, chunk: Gathered) -> Gathered:
        """Return a chunk with one row for each key, where the table makes one of all."""
        if self._request.fold is None or self._request.mode is WriteMode.DELETE:
            return chunk
        return _folded(chunk, self._order.of(chunk.rows), self._target, self._request.fold)

    def write(self, chunk: Gathered, next_offset: int) -> int:
        """Write what ``folded`` returned, from this offset on; return the offset that is next."""
        rows, locate = chunk.rows, self._locate
        hashes = hash_keys(rows, self._target)
        survivors = self._survivors(chunk, hashes)
        if self._kept is not None:
            rows, locate = self._kept.fill(rows, survivors)
        places = self._files.places(rows, hashes) if self._tells_partition else None
        delete_offsets, insert_offsets, next_offset = assign_offsets(
            survivors, next_offset, apart=self._sets_apart
        )
        if self._target.keys_move:
            nodes = nodes_under(self._target.options.change_mask, hashes)
            deletes, located = self._deletes_wherever(
                replace(chunk, rows=rows), survivors, delete_offsets, places, nodes, locate
            )
            self._files.write_deletes(rows, deletes, located)
        elif places is not None:
            deletes = deletes_in_place(survivors, delete_offsets, places)
            self._files.write_deletes(rows, deletes, None)
        inserted = survivors.inserts
        self._files.write_inserts(rows, survivors.last[inserted], insert_offsets[inserted], places)
        return next_offset

    @property
    def _target(self) -> WriteTarget:
        """The table, with the nodes that its changes have come to."""
        return self._files.target

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

    def _deletes_wherever(
        self,
        chunk: Gathered,
        survivors: Survivors,
        offsets: np.ndarray,
        places: Places | None,
        node_ids: np.ndarray,
        locate: Locate | None,
    ) -> tuple[ChangeDeletes, pa.Table | None]:
        """Return the deletes of keys that may lie in any partition, and the rows found there."""
        tells = places is not None and self._request.mode is WriteMode.DELETE
        located, owners = old_rows(
            chunk,
            survivors,
            target=self._target,
            locate=locate,
            chunk_tells=tells,
            stored_columns=self._request.stored_columns,
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
        return deletes, located


def _folded(
    chunk: Gathered, order: np.ndarray | None, target: WriteTarget, rules: FoldRules
) -> Gathered:
    """Return a chunk with one new row for each key.

    Args:
        chunk: rows that none of them removes.
        order: row numbers in event order; None: as they stand.
        target: the table.
        rules: how rows are folded.

    Raises:
        InvalidInputError: a sum that its column cannot hold.
    """
    codes, _ = factorise(chunk.rows.select(list(target.key)))
    rows = np.arange(len(codes)) if order is None else order
    rows = rows[np.argsort(codes[rows], kind="stable")]
    codes = codes[rows]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
    if len(starts):
        own = pa.table(chunk.rows.select(target.schema.names).take(pa.array(rows)))
        numbers = [known_field_id(field) for field in target.schema]
        own = fold_rows(own, numbers, starts, rules, key=target.key)
    else:
        own = chunk.rows.select(target.schema.names)
    actions = np.full(own.num_rows, Action.UPDATE_AFTER, np.int8)
    return replace(chunk, rows=own, actions=actions)


class AppendedChunks:
    """Writes one chunk of appended rows after the other: each row is an insert."""

    renewed = None

    def __init__(self, files: ChangeOutput) -> None:
        self._files = files

    def folded(self, chunk: Gathered) -> Gathered:
        """Return it as it is: a table that makes one row of several takes no appended ones."""
        return chunk

    def write(self, chunk: Gathered, next_offset: int) -> int:
        """Write a chunk from this offset on; return the offset that is next."""
        rows = chunk.rows
        hashes = hash_keys(rows, self._files.target)
        every = np.arange(rows.num_rows, dtype=np.int64)
        places = self._files.places(rows, hashes)
        self._files.write_inserts(rows, every, next_offset + every, places)
        return next_offset + len(every)
