"""Deleting the rows of a table that a condition is true of.

Strategy: what a filter covers as whole partitions or files goes by metadata, in one commit of base,
if that is all of it. Else a table with a key gets deletes of the keys, in one commit of the change
store, and of one without a key the files that hold such rows are written anew without them; where
others replaced these files meanwhile, the rows are marked in the second attempt, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from arctic import options as opt
from arctic.errors import ArcticError, CommitStateUnknownError
from arctic.iceberg.commits.commit_removal import commit_removal
from arctic.iceberg.commits.together.other_store import Check
from arctic.iceberg.snapshots.pin import pin
from arctic.job.edit.commit_edit import (
    EditedTable,
    commit_events,
    edited,
    event_schema,
    events,
    key_and_partition,
    written,
)
from arctic.job.edit.commit_places import change_places, has_place_names
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.where import Where
from arctic.job.edit.whole_files import Coverage, coverage
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference
from arctic.job.write.beside.changes_beside import ChangesBeside
from arctic.job.write.beside.places_beside import added_check
from arctic.job.write.beside.read_rows import compared
from arctic.table.commit_plan import RemoveRows
from arctic.table.files import TableFile
from arctic.table.filters.predicate import Predicate
from arctic.writing.target import TaskResult, WriteTarget


def delete_where(reference: TableReference, where: Any) -> DoneEdit:
    """Delete the rows that a condition is true of, in one commit.

    Args:
        reference: the table.
        where: a filter as reads take it, or SQL; None: every row.

    Raises:
        InvalidInputError: a condition that cannot be understood.
        ConflictError: others committed during every attempt; nothing was deleted.
        CommitStateUnknownError: the catalog did not answer; look before deleting again.

    Memory: as a read; the keys of a chunk of rows.
    """
    return edited(reference, lambda table: _deleted(table, Where.of(table.opened, where)))


def covers(reference: TableReference, where: Predicate) -> bool:
    """Say whether a delete by a filter is done here, and not by an engine that finds its rows.

    It is where metadata is enough. It is too where rows of a key are held against one another: an
    engine finds a row by its key, and does not know the values that its delete must have.

    Args:
        reference: the table.
        where: the filter.
    """
    opened = reference.open()
    if opened.table.weighs_rows:
        return True
    return coverage(opened, pin(opened), where).is_whole


def _deleted(table: EditedTable, where: Where) -> EditReport:
    name = table.opened.table.name
    if table.opened.table.weighs_rows:
        # Every row leaves a delete with its values, which holds against late ones; and where rows
        # are folded, no file tells what a key has.
        return delete_by_key(table, where)
    if where.sql is None:
        found = coverage(table.opened, table.state, where.predicate)
        if found.is_empty:
            return EditReport(table=name, snapshot_id=None, reads_table=False)
        if found.is_whole:
            snapshot_id = remove(table, found, where, summary={})
            return EditReport(
                table=name, snapshot_id=snapshot_id, rows_deleted=found.rows, reads_table=False
            )
    else:
        found = coverage(table.opened, table.state, None)
        found = replace(
            found, partitions=frozenset(), files=(), partly=found.listed.base, rows=None
        )
    if table.opened.table.is_keyed:
        return delete_by_key(table, where)
    if table.attempt and not has_place_names(table):
        return change_places(table, where, None)
    return rewritten(table, found, where, lambda rows, mask: rows.filter(pa.array(~mask)))


def remove(
    table: EditedTable,
    found: Coverage,
    where: Where,
    *,
    summary: Mapping[str, str],
    rewritten_files: Sequence[TableFile] = (),
    results: Sequence[TaskResult] = (),
) -> int | None:
    """Commit a removal of what is covered, and of files that were written anew."""
    gone = {file.path for file in (*found.files, *rewritten_files)}
    is_keyed = table.opened.table.is_keyed
    commit = commit_removal(
        table.opened,
        RemoveRows(
            partitions=found.partitions,
            removed_paths=frozenset(gone),
            known_paths=None if is_keyed else frozenset(file.path for file in found.listed.base),
            files=tuple(file for result in results for file in result.files),
            change_sequence_number=table.state.change_sequence_number if is_keyed else None,
            known_deletes=frozenset(file.path for file in found.listed.position_deletes),
            planned_at=table.state.base_snapshot_id,
            summary=summary,
        ),
        check=_beside(table, where),
    )
    return None if commit is None else commit.snapshot_id


def _beside(table: EditedTable, where: Where) -> Check:
    """Return what refuses rows that came meanwhile, and of which the condition is true.

    With a key they lie in the change store, on top of what goes: an update of rows that go would
    bring them back.
    """
    opened = table.opened
    if not opened.table.is_keyed:
        return added_check(since=table.state, read=where.read)
    return ChangesBeside(
        opened,
        (),
        schema=opened.arrow_schema,
        key=opened.table.primary_key,
        before=table.state,
        read=where.read,
    )


def read_for_delete(table: EditedTable, where: Where) -> ScanJob:
    """Plan the read of what a delete by keys must know of the rows that a condition is true of."""
    wanted = key_and_partition(table.opened)
    more = where.columns if where.sql is not None else set[str]()
    names = [name for name in table.opened.arrow_schema.names if name in {*wanted, *more}]
    return table.read(names, where.predicate)


def delete_by_key(table: EditedTable, where: Where, job: ScanJob | None = None) -> EditReport:
    """Commit deletes of the keys of the rows that a condition is true of.

    Args:
        table: with a key.
        where: the condition.
        job: what ``read_for_delete`` planned; None: nobody has planned it yet.
    """
    opened = table.opened
    wanted = key_and_partition(opened)
    job = job or read_for_delete(table, where)
    schema, count = event_schema(opened), 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for rows in where.matching(job.batches()):
            count += rows.num_rows
            yield from events(rows.select(wanted), "D", schema).to_batches()

    read = compared(where.read, opened.table.properties)
    snapshot_id, written_rows = commit_events(table, batches(), read=read)
    return EditReport(
        table=opened.table.name,
        snapshot_id=snapshot_id,
        rows_deleted=count,
        rows_written=written_rows,
    )


def rewritten(table: EditedTable, found: Coverage, where: Where, change: Any) -> EditReport:
    """Write the files of a table without a key anew that hold rows which match.

    Args:
        table: without a key.
        found: what the condition touches.
        where: the condition.
        change: rows of a file and which of them match -> what the new file holds.
    """
    touched = [file for file in found.partly if _holds(table, file, found, where)]
    schema = table.opened.arrow_schema
    count = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for file in touched:
            for rows in table.rows_of_file(file, found.listed):
                mask = where.mask(rows)
                count += int(np.count_nonzero(mask))
                yield from change(rows, mask).cast(schema).to_batches()

    name = table.opened.table.name
    if not touched and not found.files and not found.partitions:
        return EditReport(table=name, snapshot_id=None)
    results: list[TaskResult] = []
    target: WriteTarget | None = None
    if touched:
        target, result = written(table, batches(), schema, **{opt.WRITE_MODE.name: "append"})
        results.append(result)
    try:
        snapshot_id = remove(
            table, found, where, summary={}, rewritten_files=touched, results=results
        )
    except CommitStateUnknownError:
        raise
    except ArcticError:
        if target is not None:
            target.delete_results(results)
        raise
    known = found.rows if found.files or found.partitions else 0
    return EditReport(
        table=name,
        snapshot_id=snapshot_id,
        rows_deleted=None if known is None else count + known,
        rows_written=sum(result.inserts for result in results),
    )


def _holds(table: EditedTable, file: TableFile, found: Coverage, where: Where) -> bool:
    names = [name for name in table.opened.arrow_schema.names if name in where.columns]
    return any(
        where.meets(rows) for rows in table.rows_of_file(file, found.listed, columns=names or None)
    )
