"""What two states of a table differ in: rows that are there in one of them alone.

Strategy: a task has the nodes of both states that may hold the same keys, without the files that
say the same in both. The rows of either are read as every read merges them, and compared key by
key.

Rules:
    - A row that is equal in both is no difference. Where a key has rows in both, that is an update.

Memory: the rows of one part of a task's keys in both states, of files of ``HELD_BYTES``; a task
with more reads them again for each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from arctic.columns.key_codes import factorise
from arctic.mor.batch import at_least_one, coalesce
from arctic.mor.changes.told_rows import DELETE, INSERT, RowChangeShape, tell
from arctic.mor.changes.unchanged import unchanged_keys
from arctic.mor.key_parts import KeyPart, key_parts
from arctic.mor.read import read_group
from arctic.mor.request import OpenFile, ReadRequest
from arctic.scan.changes.difference_tasks import DifferenceGroup, DifferenceTask
from arctic.scan.task import NodeTask, NodeTaskGroup


def read_row_difference(
    group: DifferenceGroup, shape: RowChangeShape, request: ReadRequest, open_file: OpenFile
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in which the two states of a group's tasks differ.

    Args:
        group: its tasks, and the commit that it is told as.
        shape: what is wanted; its commits are not these.
        request: every column of the table with the type it has now, the key and bounds.
        open_file: how a path is opened for reading.

    Raises:
        FormatError: a file that is corrupt, or lacks what it must have.
        StorageError: a file that is missing or cannot be fetched.
    """
    told_as = replace(shape, commits=(0,), versions=(group.version,), times_ms=(group.time_ms,))
    rows = (
        batch
        for task in group.tasks
        for part in key_parts(
            file.file for node in (*task.before, *task.after) for file in node.data
        )
        for batch in _task_rows(task, part, told_as, request, open_file)
    )
    yield from at_least_one(coalesce(rows, max_rows=request.batch_rows), shape.schema)


def _task_rows(
    task: DifferenceTask,
    part: KeyPart,
    shape: RowChangeShape,
    request: ReadRequest,
    open_file: OpenFile,
) -> Iterator[pa.RecordBatch]:
    old = _rows(task.before, part, request, open_file)
    new = _rows(task.after, part, request, open_file)
    keys = [rows.select(request.key.names) for rows in (old, new)]
    codes, count = factorise(pa.concat_tables(keys))
    old_keys, new_keys = codes[: len(old)], codes[len(old) :]
    changed = np.ones(count, dtype=bool)
    changed[unchanged_keys(old, old_keys, new, new_keys)] = False
    updates = None
    if shape.tells_updates:
        in_old, in_new = (np.bincount(each, minlength=count) > 0 for each in (old_keys, new_keys))
        updates = np.flatnonzero(in_old & in_new & changed)
    for rows, numbers, kind in ((old, old_keys, DELETE), (new, new_keys, INSERT)):
        begun = 0
        for batch in rows.to_batches(max_chunksize=request.batch_rows):
            own = numbers[begun : begun + len(batch)]
            begun += len(batch)
            commits = np.zeros(len(batch), np.int64)
            yield from tell(batch, own, commits, kind, updates, shape, changed[own])


def _rows(
    nodes: Sequence[NodeTask], part: KeyPart, request: ReadRequest, open_file: OpenFile
) -> pa.Table:
    """Return the rows of nodes in one part of their keys."""
    group = NodeTaskGroup(tasks=tuple(nodes), cost_bytes=0)
    batches = [part.of(batch, request) for batch in read_group(group, request, open_file)]
    return pa.Table.from_batches(batches, schema=request.schema)
