"""Stored rows without a key, which are known by their file and their place in it.

What goes is marked in position deletes and what takes its place is appended, so nothing has an
order, and rows that are equal are different rows.

Memory: a part of the table; eight bytes for each row that goes; the new rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError, UnsupportedError
from arctic.job.edit.commit_edit import EditedTable, events
from arctic.job.edit.merging.merge_clauses import MergePlan
from arctic.job.edit.merging.table_parts import parts_of
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.command_write import Command, begin_command
from arctic.job.write.commit_write import commit_write
from arctic.job.write.stored_rows.looked_up import check_same
from arctic.job.write.write_job import work_here
from arctic.job.write.write_task import write_task
from arctic.table.row_places import ACTION, FILE, PLACE_COLUMNS, POSITION

_MERGE = Command(name="MERGE", rows="places", once=None, checks_inserts=False, is_blind=False)


class PlacedRows:
    """See ``merge_pairs.StoredRows``."""

    def __init__(self, table: EditedTable) -> None:
        opened = table.opened
        for name in PLACE_COLUMNS:
            if name in opened.arrow_schema.names:
                raise UnsupportedError(
                    f"merge into table {opened.table.name!r}: its column {name!r} has a name that "
                    "a merge without a key needs for itself; rename the column"
                )
        self._table = table
        self._schema = _place_schema(table)
        self._new: list[pa.Table] = []

    def found(self, plan: MergePlan, source: pa.Table) -> Iterator[pa.Table]:
        """Yield all rows, with where they are."""
        names = plan.target_columns(self._table.opened.arrow_schema.names, ())
        yield from parts_of(self._table, [*names, FILE, POSITION])

    def named(self, row: pa.Table) -> str:
        """Return the row itself, as far as it was read."""
        return str(row.drop_columns([FILE, POSITION]).to_pylist()[0])

    def deleted(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield where they are."""
        yield from events(rows.select([FILE, POSITION]), "D", self._schema).to_batches()

    def updated(self, old: pa.Table, new: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the new rows, with where those are that they replace."""
        for name in (FILE, POSITION):
            new = new.append_column(name, old.column(name))
        yield from events(new, "U", self._schema).to_batches()

    def insert(self, rows: pa.Table) -> None:
        """Hold new rows."""
        self._new.append(rows)

    def inserted(self) -> Iterator[pa.RecordBatch]:
        """Yield them."""
        for rows in self._new:
            yield from events(rows, "I", self._schema).to_batches()


def commit_placed(table: EditedTable, batches: Iterable[pa.RecordBatch]) -> tuple[int | None, int]:
    """Write what becomes of rows, and commit it on top of the state that they were read in.

    Args:
        table: in that state.
        batches: of ``PlacedRows``.

    Returns:
        The snapshot, None where no row changes, and the rows that were appended.

    Raises:
        ConflictError: others have committed; nothing of it is left.
    """
    opened = table.opened
    given = {**table.reference.options, opt.WRITE_MODE.name: "append"}
    job = begin_command(AskedWrite.of(given), _place_schema(table), _MERGE, seen=())
    check_same(job.found(), table_uuid=str(opened.base.metadata.table_uuid))
    same = job.target.schema.equals(opened.arrow_schema, check_metadata=True)
    if job.on_top_of != table.state or not same:
        raise ConflictError(f"table {opened.table.name!r}: others committed meanwhile; try again")
    result = write_task(
        work_here(job), batches, partition_id=0, task_id=0, threads=opt.default_parallelism()
    )
    commit = commit_write(job, [result])
    return (None, 0) if commit is None else (commit.snapshot_id, result.inserts)


def _place_schema(table: EditedTable) -> pa.Schema:
    columns = [field.with_nullable(True) for field in table.opened.arrow_schema]
    return pa.schema(
        [
            *columns,
            pa.field(FILE, pa.string()),
            pa.field(POSITION, pa.int64()),
            pa.field(ACTION, pa.string()),
        ]
    )
