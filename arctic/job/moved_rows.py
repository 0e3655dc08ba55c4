"""Commits of upserts whose rows may have moved to another partition meanwhile.

Where the key does not decide the partition, a delete must be written where the row *is*. It was
looked up in a pinned state. So, before each attempt to commit: if a store has moved on, look the
written keys up among the files that are new, and delete what is found there. The commit holds
only if the change store is still where it was looked at.

The added deletes come first in the transaction (their task numbers give the lowest offsets), so
they kill what other writers committed, never a row of this write.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InternalError,
)
from arctic.iceberg.commit import CommitResult, commit_append
from arctic.iceberg.commit_notes import BatchLandedError
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.job.locate import RowLocator, locate_rows
from arctic.job.newest_state import on_newest_state
from arctic.job.unreferenced import delete_results, deleted_on_failure
from arctic.job.write_task import ADDED_DELETES_TASK
from arctic.mor.field_ids import known_field_id
from arctic.table.files import FileKind
from arctic.table.stream_batch import StreamBatch
from arctic.table.watermark import Watermark
from arctic.write.plan_commit import plan_append
from arctic.write.target import TaskId, TaskResult, WriteMode, WriteRequest, WriteTarget
from arctic.write.writer import open_writer, plan_write

_MAX_ROUNDS = 50


def commit_over_moved_rows(
    opened: OpenTable,
    results: Sequence[TaskResult],
    *,
    target: WriteTarget,
    locator: RowLocator,
    batch: StreamBatch | None,
    watermark: Watermark | None,
) -> CommitResult | None:
    """Commit the files of a write, with deletes for rows that moved since they were located.

    Memory: the keys of one change-delete file of the write, and the rows that moved.

    Raises:
        BatchLandedError: the batch is in the table already.
        ConflictError: other writers were faster in every round, or retyped a partition column.
    """
    added: list[TaskResult] = []
    moved = locator.request.schema.empty_table()
    for _ in range(_MAX_ROUNDS):
        with deleted_on_failure(target, added, results):
            opened, locator, found = on_newest_state(
                opened, partial(_look, opened, results, since=locator)
            )
            if found.num_rows:
                moved = pa.concat_tables([moved, found])
                delete_results(target, added)
                added[:] = [_write_deletes(target, moved)]
            plan = plan_append(
                [*added, *results],
                on_top_of=locator.snapshot,
                summary={},
                batch=batch,
                watermark=watermark,
            )
        try:
            return commit_append(opened, plan)
        except BatchLandedError:
            delete_results(target, added)
            raise
        except ConflictError:
            continue
        except (CommitStateUnknownError, InternalError):
            raise
        except ArcticError:
            delete_results(target, added)
            raise
    delete_results(target, added)
    raise ConflictError(
        f"table {opened.table.name!r}: other writers committed during each of {_MAX_ROUNDS} "
        "attempts, and its keys can move between partitions; write again"
    )


def _look(
    before: OpenTable, results: Sequence[TaskResult], *, since: RowLocator
) -> tuple[OpenTable, RowLocator, pa.Table]:
    """Return the table as it is now, what searches it, and the rows that came since."""
    opened = open_table(before.config, before.table.name, for_writing=True)
    fresh, wanted = locate_rows(opened), since.request.schema
    found = [wanted.empty_table()]
    if fresh.snapshot != since.snapshot:
        newer = fresh.without(since.data_paths)
        found += [
            _as_begun(newer.find(keys), wanted, name=opened.table.name)
            for keys in _deleted_keys(opened, results)
        ]
    return opened, fresh, pa.concat_tables(found)


def _deleted_keys(opened: OpenTable, results: Sequence[TaskResult]) -> Iterator[pa.Table]:
    key = list(opened.table.primary_key)
    schema = pa.schema([opened.arrow_schema.field(name) for name in key])
    for result in results:
        for file in result.files:
            if file.kind is FileKind.CHANGE_DELETE:
                with opened.io.open_input(file.path) as source:
                    yield pq.read_table(source, columns=key).select(key).cast(schema)


def _as_begun(rows: pa.Table, schema: pa.Schema, *, name: str) -> pa.Table:
    """Return rows with the columns that the write began with: they may have other names now."""
    found = {known_field_id(field): place for place, field in enumerate(rows.schema)}
    columns = []
    for field in schema:
        place = found.get(known_field_id(field))
        if place is None or rows.schema.field(place).type != field.type:
            raise ConflictError(
                f"table {name!r}: column {field.name!r}, which rows are looked for by, was dropped "
                "or retyped during the write; write again"
            )
        columns.append(rows.column(place))
    return pa.table(columns, schema=schema)


def _write_deletes(target: WriteTarget, rows: pa.Table) -> TaskResult:
    request = WriteRequest(mode=WriteMode.DELETE)
    task = TaskId(partition_id=ADDED_DELETES_TASK, task_id=0, operation_id=secrets.randbits(63))
    conform = plan_write(target.table, target.schema, rows.schema, request=request, locates=False)
    writer = open_writer(target, task, request=request, conform=conform, locate=None)
    for batch in rows.to_batches():
        writer.write(batch)
    return writer.close()
