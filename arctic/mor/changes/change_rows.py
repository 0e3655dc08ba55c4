"""Rows of the change store as events, in the order in which they happened to each key.

Strategy: the files of one transaction and node are read side by side and merged by file offset,
in windows: what lies below the least offset that any file has still to show is complete. In a
window, a delete and an insert of one key with one offset are an update.

Rules:
    - A key's events come in the order of their Lsn, a delete before an insert of the same one.
    - Equal offsets make an update only for the same key: writers count each for themselves.
    - A delete that is written to several partitions, because nobody knew where the row was, is
      one event. The row that tells the most stays.
    - Offsets must not fall inside a file, or the file is refused.

Memory: small files of one transaction and node up to ``HELD_BYTES`` on disk, one run of row groups
of each larger one, and a window of about ``batch_rows`` rows; files that are open share it.

Source: amoro ChangeLogDataIterator @96a4d781a. Differs: several files of a kind are merged, and
updates are recognised by key as well as by offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa

from arctic.columns.integers.distinct import are_among, common, distinct
from arctic.columns.key_codes import factorise
from arctic.mor.batch import at_least_one, coalesce, make_batch
from arctic.mor.changes.offset_merge import OffsetWindow, offset_windows
from arctic.mor.read import read_group
from arctic.mor.request import CHANGE_ACTION_FIELD, FILE_OFFSET_FIELD, OpenFile, ReadRequest
from arctic.scan.changes.change_tasks import ChangeGroup, ChangeTask
from arctic.scan.task import NodeTaskGroup

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
# Not from a list: that imports pandas, in every worker.
_NAMES = pa.StringArray.from_buffers(
    4, pa.py_buffer(np.arange(0, 10, 2, dtype=np.int32)), pa.py_buffer(b"+I-U+U-D")
)


def read_changes(
    group: ChangeGroup, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a group's tasks.

    Args:
        group: what one task reads.
        request: columns, key and bounds; a filter is not applied.
        open_file: how a path is opened for reading.

    Raises:
        FormatError: a file that is corrupt, or lacks what it must have.
        StorageError: a file that is missing or cannot be fetched.
    """
    rows = chain.from_iterable(_events(task, request, open_file) for task in group.tasks)
    yield from at_least_one(coalesce(rows, max_rows=request.batch_rows), request.schema)


def _events(
    task: ChangeTask, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    if task.beginning:
        group = NodeTaskGroup(tasks=task.beginning, cost_bytes=task.cost_bytes)
        for batch in read_group(group, request, open_file):
            yield _with_action(batch, request.schema, pa.repeat(_NAMES[INSERT], len(batch)))
    fields = _needed(request)
    plain = replace(request, schema=fields, row_filter=None)
    for unit in task.units:
        for window in offset_windows(unit, plain, open_file):
            yield from _window_events(window, request)


def _needed(request: ReadRequest) -> pa.Schema:
    """Return what is read of every change file: what was asked for, key and file offset."""
    fields = {field.name: field for field in request.schema}
    fields.pop(CHANGE_ACTION_FIELD.name, None)
    for field in (*request.key, FILE_OFFSET_FIELD):
        fields.setdefault(field.name, field)
    return pa.schema(list(fields.values()))


def _window_events(window: OffsetWindow, request: ReadRequest) -> Iterator[pa.RecordBatch]:
    codes, stays = _actions(window, request)
    rows = window.rows
    if not stays.all():
        rows, codes = rows.filter(pa.array(stays)), codes[stays]
    actions = _NAMES.take(pa.array(codes))
    for start in range(0, len(rows), request.batch_rows):
        piece = rows.slice(start, request.batch_rows)
        yield _with_action(piece, request.schema, actions.slice(start, request.batch_rows))


def _with_action(batch: pa.RecordBatch, schema: pa.Schema, actions: pa.Array) -> pa.RecordBatch:
    columns = [
        actions if field.name == CHANGE_ACTION_FIELD.name else batch.column(field.name)
        for field in schema
    ]
    return make_batch(columns, schema, len(batch))


def _actions(window: OffsetWindow, request: ReadRequest) -> tuple[np.ndarray, np.ndarray]:
    """Return the action of each row, and whether it stays."""
    codes = np.where(window.is_delete, DELETE, INSERT).astype(np.int8)
    stays = np.ones(len(codes), dtype=bool)
    new_offset = np.concatenate([[True], np.diff(window.offsets) != 0])
    alone = new_offset & np.concatenate([new_offset[1:], [True]])
    shared = np.flatnonzero(~alone)
    if not len(shared):
        return codes, stays
    rows = window.rows.take(pa.array(shared))
    keys, key_count = factorise(pa.Table.from_batches([rows]).select(request.key.names))
    events = np.cumsum(new_offset)[shared] * key_count + keys
    deletes = window.is_delete[shared]
    updated = common(events[deletes], events[~deletes])
    is_update = are_among(events, updated)
    codes[shared[is_update & deletes]] = UPDATE_BEFORE
    codes[shared[is_update & ~deletes]] = UPDATE_AFTER
    stays[shared[_told_again(rows, events, deletes)]] = False
    return codes, stays


def _told_again(rows: pa.RecordBatch, events: np.ndarray, deletes: np.ndarray) -> np.ndarray:
    """Return the deletes of an event but the one whose row tells the most."""
    places = np.flatnonzero(deletes)
    if len(distinct(events[places])) == len(places):
        return places[:0]
    known = np.zeros(len(events), dtype=np.int64)
    for column in rows.columns:
        known += column.is_valid().to_numpy(zero_copy_only=False)
    order = places[np.lexsort((-known[places], events[places]))]
    again: np.ndarray = order[1:][np.diff(events[order]) == 0]
    return again
