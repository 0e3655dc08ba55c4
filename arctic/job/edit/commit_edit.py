"""Events that were made from rows of one pinned state, written and committed on top of it.

Rules:
    - The commit holds only if nobody has changed since what was read, so the result is that of
      running alone. Else the files are deleted and all of it is done again in the newest state.
    - Every event knows where its row lies, so no row is looked up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InternalError,
    StorageError,
)
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import Identity, OpenTable
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.sql_rows import one_moment
from arctic.job.nudge import nudge_service
from arctic.job.ordered_table import refuse_edits
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.read_columns import project
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.job.read.some_files import rows_of_files
from arctic.job.reference import TableReference
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.beside.changes_beside import ChangesBeside
from arctic.job.write.beside.read_rows import ReadRows
from arctic.job.write.target_table import check_same
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task
from arctic.retry import COMMANDS
from arctic.scan.store_files import StoreFiles
from arctic.table.commit_plan import AppendFiles
from arctic.table.files import TableFile
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.writing.target import TaskResult, WriteTarget, files_of
from arctic.writing.write_request import KeyRule

_ACTION = "_arctic_edit_action"
"""Last column of events: what each row does. A table that has one of this name gives it another."""
_PART_ROWS = 1_000_000
"""Rows of a table that are held at a time, where all are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedTable:
    """A table that is being edited, in one pinned state."""

    opened: OpenTable
    state: TableSnapshot
    reference: TableReference
    attempt: int = 0
    """How often others were faster."""

    @property
    def asked(self) -> AskedRead:
        """What a read of rows asks that may be written again."""
        return AskedRead.of({**self.reference.options, opt.VERIFY_CHECKSUMS.name: "true"})

    def read(
        self, columns: Sequence[str] | None = None, row_filter: Predicate | None = None
    ) -> ScanJob:
        """Plan a read of the state, of rows that may be written again.

        Args:
            columns: in this order; None: all.
            row_filter: rows that do not match are left out.
        """
        return scan_opened(
            self.opened,
            self.asked,
            columns=columns,
            row_filter=row_filter,
            snapshot=self.state,
        )

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield all rows in parts that fit into memory, one part at least.

        Args:
            columns: in this order.
        """
        job = self.read(columns)
        part: list[pa.RecordBatch] = []
        for batch in job.batches():
            part.append(batch)
            if sum(each.num_rows for each in part) >= _PART_ROWS:
                yield pa.Table.from_batches(part)
                part = []
        yield pa.Table.from_batches(part, schema=job.schema)

    def rows_of_file(
        self, file: TableFile, listed: StoreFiles, *, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of a file that position deletes leave, batch by batch.

        Args:
            file: a base file of a table without a key.
            listed: the files of its state, for the position deletes among them.
            columns: to be read; None: all.
        """
        opened = self.opened
        schema = project(opened.arrow_schema, columns, table_name=opened.table.name)
        for batch in rows_of_files(opened, self.state, listed, [file], schema=schema):
            yield pa.Table.from_batches([batch])


def edited(
    reference: TableReference,
    attempt: Callable[[EditedTable], EditReport],
    *,
    commits: bool = True,
) -> DoneEdit:
    """Carry an edit out, again in the newest state where others were faster.

    Args:
        reference: the table.
        attempt: does it once, in one state; it leaves no files behind when it fails.
        commits: False where it only says what it would do, which needs no permission to write.

    Raises:
        UnsupportedError: the first row of a key stays.
        ConflictError: others committed during every attempt; nothing was committed.
    """
    started = time.monotonic()
    identity: Identity | None = None
    for number in COMMANDS.tries():
        opened = reference.open(for_writing=commits)
        identity = identity or opened.identity
        check_same(opened, identity=identity)
        refuse_edits(opened.table, "deleting, updating or merging rows")
        state = pin(opened)
        table = EditedTable(opened=opened, state=state, reference=reference, attempt=number)
        try:
            with one_moment():
                report = attempt(table)
        except (ConflictError, StorageError) as error:
            if isinstance(error, StorageError) and not is_file_gone(error):
                raise
            outrun = error
        else:
            seconds = time.monotonic() - started
            report = replace(report, attempts=number + 1, seconds=seconds)
            return DoneEdit(report=report, properties=opened.table.properties)
    raise ConflictError(
        f"table {opened.table.name!r}: during each of {number + 1} attempts others "
        f"changed what had been read, and nothing was changed here; the last time: "
        f"{outrun.message}; try again when fewer write to these rows, or to fewer rows at a time"
    ) from outrun


def written(
    table: EditedTable,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    key_rule: KeyRule | None = None,
    /,
    **options: str,
) -> tuple[WriteTarget, TaskResult]:
    """Write rows to files that nobody refers to yet.

    Args:
        table: where they go.
        batches: the rows.
        schema: of each batch.
        key_rule: what is demanded of the keys of the rows.
        options: write options beside those of the table.
    """
    given = {**table.reference.options, opt.CROSS_PARTITION.name: "assume-stable", **options}
    job = begin_write(replace(AskedWrite.of(given), sets_rows=True), schema)
    check_same(job.found(), identity=table.opened.identity)
    if not job.target.schema.equals(table.opened.arrow_schema, check_metadata=True):
        raise ConflictError(
            f"table {table.opened.table.name!r}: its columns changed meanwhile; try again"
        )
    work = work_here(job)
    work = replace(work, request=replace(work.request, key_rule=key_rule))
    result = write_task(work, batches, partition_id=0, task_id=0, threads=opt.default_parallelism())
    return job.target, result


def commit_events(
    table: EditedTable,
    batches: Iterable[pa.RecordBatch],
    *,
    read: ReadRows | None,
    key_rule: KeyRule | None = None,
) -> tuple[int | None, int]:
    """Write and commit events, in one snapshot of the change store.

    Args:
        table: in the state that they were made from.
        batches: as ``event_schema`` says.
        read: the rows that they were made from; None: no row, so any state may lie below.
        key_rule: what is demanded of their keys.

    Returns:
        The snapshot, None for no events, and the rows that were written.

    Raises:
        ConflictError: others have changed what was read; nothing of it is left.
    """
    schema = event_schema(table.opened)
    options = {opt.WRITE_MODE.name: "append", opt.ACTION_COLUMN.name: schema.names[-1]}
    options[opt.UPSERT_INSERTS.name] = "true"
    target, result = written(table, batches, schema, key_rule, **options)
    with target.deleted_on_failure([result]):
        plan = AppendFiles(files=files_of([result]))
        check = None
        if read is not None:
            check = ChangesBeside(
                table.opened,
                [result],
                schema=target.schema,
                key=target.key,
                before=table.state,
                read=read,
            )
    try:
        commit = commit_append(table.opened, plan, check=check)
    except (CommitStateUnknownError, InternalError):
        raise
    except ArcticError:
        target.delete_results([result])
        raise
    nudge_service(table.reference.identifier)
    rows = result.inserts + result.deletes
    return (None, 0) if commit is None else (commit.snapshot_id, rows)


def event_schema(opened: OpenTable) -> pa.Schema:
    """Return the columns of events: those of the table, and what each row does."""
    columns = [field.with_nullable(True) for field in opened.arrow_schema]
    action = _ACTION
    while action in opened.arrow_schema.names:
        action += "_"
    return pa.schema([*columns, pa.field(action, pa.string())])


def events(rows: pa.Table, action: str, schema: pa.Schema) -> pa.Table:
    """Return rows as events of one kind, which the last column says; what they lack is null."""
    *own, _ = schema
    columns = [
        rows.column(field.name)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in own
    ]
    said = pa.repeat(pa.scalar(action), rows.num_rows)
    return pa.table([*columns, said], schema=schema)


def key_and_partition(opened: OpenTable) -> list[str]:
    """Return the columns that an event of a delete needs."""
    table = opened.table
    names = [*table.primary_key, *table.ordering_columns]
    names += [column.name for column in table.partition_source_columns]
    names += [column.name for column in table.columns if column.required]
    return list(dict.fromkeys(names))
