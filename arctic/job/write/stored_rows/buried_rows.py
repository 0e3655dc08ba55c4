"""Stored rows without a key that a write takes the place of, out of their data files.

Rules:
    - Their places are those of the state that the write is committed on top of, and of no other.
    - A file of which no row is left goes as a whole; of others the rows are marked as deleted.

Memory: eight bytes for each of the rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arctic import options as opt
from arctic.errors import ConflictError, InternalError
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.write.write_job import WriteJob
from arctic.job.write.write_task import ADDED_DELETES_TASK
from arctic.writing.place_writer import dead_of
from arctic.writing.position_marks import mark_rows
from arctic.writing.target import TaskId, TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class BuriedRows:
    """What has to be committed for rows that go."""

    results: tuple[TaskResult, ...] = ()
    """The files in which they are marked."""
    paths: frozenset[str] = frozenset()
    """Data files that go with all their rows."""


def buried(job: WriteJob, opened: OpenTable, results: Sequence[TaskResult]) -> BuriedRows:
    """Write the position deletes of the rows that tasks have told of.

    Args:
        job: the write.
        opened: its table as it is now.
        results: of all tasks.

    Raises:
        ConflictError: a file of such a row is not there any more.
        StorageError: a file could not be written; none is left.
    """
    dead = dead_of(results)
    if not dead:
        return BuriedRows()
    if job.on_top_of is None:
        raise InternalError(f"rows of table {opened.table.name!r} go, but of no known state")
    snapshot = job.on_top_of.base_snapshot_id
    if opened.base.metadata.current_snapshot_id != snapshot:
        raise ConflictError(
            f"table {opened.table.name!r}: another commit came after its rows were read"
        )
    listed = list_files(opened, job.on_top_of, field_ids=(), row_filter=None)
    files = {file.path: file for file in listed.base}
    strange = sorted(dead.keys() - files.keys())
    if strange:
        raise InternalError(f"a row of file {strange[0]!r} goes, which the table does not have")
    whole = {path for path, rows in dead.items() if len(rows) == files[path].record_count}
    options = replace(job.target.options, threads=opt.default_parallelism())
    task = TaskId(partition_id=ADDED_DELETES_TASK, task_id=0, operation_id=secrets.randbits(63))
    marked = mark_rows(
        replace(job.target, options=options),
        task,
        [(files[path], rows) for path, rows in dead.items() if path not in whole],
    )
    count = sum(len(rows) for rows in dead.values())
    result = TaskResult(task=task, files=marked, rows_in=0, inserts=0, deletes=count)
    return BuriedRows(results=(result,), paths=frozenset(whole))
