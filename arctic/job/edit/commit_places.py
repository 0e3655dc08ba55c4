"""Rows of a table without a key that are known by their place: marked, and others appended.

What goes is marked in position deletes, wherever the rows are by the time of the commit, and what
takes their place is appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError
from arctic.job.edit.commit_edit import EditedTable, events
from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.where import Where
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.beside.read_rows import ReadRows, compared
from arctic.job.write.command_write import Command, begin_command
from arctic.job.write.commit_write import commit_write
from arctic.job.write.target_table import check_same
from arctic.job.write.write_job import work_here
from arctic.job.write.write_task import write_task
from arctic.table.row_positions import ACTION, FILE, PLACE_COLUMNS, POSITION

_PLACE = [FILE, POSITION]
_PLACED = Command(
    name="MERGE",
    rows="places",
    once=None,
    checks_inserts=False,
    is_blind=False,
    tells_places=True,
)


def commit_placed(
    table: EditedTable, batches: Iterable[pa.RecordBatch], *, read: ReadRows
) -> tuple[int | None, int]:
    """Write what becomes of rows, and commit it if they are as they were read.

    Args:
        table: in the state that was read.
        batches: of ``place_schema``.
        read: the rows that were looked at.

    Returns:
        The snapshot, None where no row changes, and the rows that were appended.

    Raises:
        ConflictError: others have changed what was read; nothing of it is left.
    """
    opened = table.opened
    given = {**table.reference.options, opt.WRITE_MODE.name: "append"}
    job = begin_command(AskedWrite.of(given), place_schema(table), _PLACED, seen=())
    check_same(job.found(), identity=opened.identity)
    if not job.target.schema.equals(opened.arrow_schema, check_metadata=True):
        raise ConflictError(f"table {opened.table.name!r}: its columns changed meanwhile")
    job = replace(job, on_top_of=table.state, read=read)
    result = write_task(
        work_here(job), batches, partition_id=0, task_id=0, threads=opt.default_parallelism()
    )
    commit = commit_write(job, [result])
    return (None, 0) if commit is None else (commit.snapshot_id, result.inserts)


def place_schema(table: EditedTable) -> pa.Schema:
    """Return the columns of rows that say which stored row they are about."""
    columns = [field.with_nullable(True) for field in table.opened.arrow_schema]
    return pa.schema(
        [
            *columns,
            pa.field(FILE, pa.string()),
            pa.field(POSITION, pa.int64()),
            pa.field(ACTION, pa.string()),
        ]
    )


def deleted_places(rows: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield where rows are that go, in ``place_schema``."""
    yield from events(rows.select(_PLACE), "D", schema).to_batches()


def replaced_places(old: pa.Table, new: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield new rows, with where those are whose place they take, in ``place_schema``."""
    for name in _PLACE:
        new = new.append_column(name, old.column(name))
    yield from events(new, "U", schema).to_batches()


def has_place_names(table: EditedTable) -> bool:
    """Say whether columns of a table have names of places."""
    return any(name in table.opened.arrow_schema.names for name in PLACE_COLUMNS)


def change_places(
    table: EditedTable, where: Where, renewed: Callable[[pa.Table], pa.Table] | None
) -> EditReport:
    """Delete the rows that match, or put others in their place.

    Args:
        table: without a key.
        where: which rows.
        renewed: makes the new ones; None: they are deleted.
    """
    schema, count = place_schema(table), 0
    names = [
        name
        for name in table.opened.arrow_schema.names
        if renewed is not None or name in where.columns
    ]
    job = table.read([*names, FILE, POSITION], where.predicate)

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for rows in where.matching(job.batches()):
            count += rows.num_rows
            if renewed is None:
                yield from deleted_places(rows, schema)
            else:
                yield from replaced_places(rows, renewed(rows.drop_columns(_PLACE)), schema)

    read = compared(where.read, table.opened.table.properties)
    snapshot_id, appended = commit_placed(table, batches(), read=read)
    return EditReport(
        table=table.opened.table.name,
        snapshot_id=snapshot_id,
        rows_deleted=count,
        rows_written=appended,
    )
