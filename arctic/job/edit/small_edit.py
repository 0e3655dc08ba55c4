"""A DELETE or UPDATE that is asked of an engine, carried out by this process where it reads little.

An engine plans tasks, hands rows over to Python and takes their files back. One process reads some
million rows in that time.

Rules:
    - Rows, events, refusals and what is checked of other commits are those of the engine's command.
      Where any of them might differ, nothing is committed, and the engine is asked.
    - The old row of an update is written only where it tells its partition: to encode it would cost
      as much as the new one. Where it is not, old values that nothing depends on are not read.

Memory: as ``delete_where`` and ``update_where``; the keys of updated rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable, edited, key_and_partition
from arctic.job.edit.delete_job import delete_by_key, read_for_delete
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.update_job import update_by_key
from arctic.job.edit.where import Where
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference
from arctic.scan.read_summary import summed_up
from arctic.table.filters.predicate import Predicate
from arctic.table.table_description import TableDescription
from arctic.writing.write_request import KeyRule

MOST_ROWS = 16 * 2**20
"""In the files that the condition leaves: a second or two. As ``deletion_vectors`` has it."""
MOST_BYTES = 512 * 2**20
"""Of these files."""


class NotHereError(Exception):
    """It is the engine's to carry the edit out; nothing was committed."""


NO_SOURCE = pa.table({})


class NewRows(Protocol):
    """Makes new rows of old ones."""

    def __call__(self, rows: pa.Table, source: pa.Table = NO_SOURCE) -> pa.Table:
        """Return the rows as they are to be, with their keys.

        Args:
            rows: as they are stored.
            source: columns of other rows, one for each, by their places; of a MERGE those behind
                the key.

        Raises:
            NotHereError: the engine may make others of them.
        """


def small_edit(
    reference: TableReference,
    command: str,
    where_of: Callable[[TableDescription], Predicate],
    new_rows: NewRows | None,
    *,
    overwritten: Collection[str] = (),
) -> DoneEdit | None:
    """Delete or update the rows that a condition is true of, in one commit; None: ask the engine.

    Args:
        reference: the table.
        command: the name of it, for messages.
        where_of: the columns of the table -> the condition; raises ``NotHereError`` where it cannot
            be said exactly.
        new_rows: what becomes of the rows; None: they are deleted.
        overwritten: columns that are set, and of which ``new_rows`` looks at no old value.

    Raises:
        RepeatedKeyError: an update of a key that is stored several times.
        ArcticError: as ``delete_where`` and ``update_where``.
    """

    def change(table: EditedTable, rule: KeyRule) -> EditReport:
        predicate = where_of(table.opened.table)
        where = Where(schema=table.opened.arrow_schema, predicate=predicate, sql=None)
        if new_rows is None:
            return delete_by_key(table, where, small(read_for_delete(table, where)))
        names = _needed(table, overwritten)
        schema = table.opened.arrow_schema
        found = where.matching(small(table.read(names, where.predicate)).batches())
        pairs = ((rows, new_rows(rows)) for rows in (_whole(part, schema) for part in found))
        return update_by_key(table, pairs, read=where.read, key_rule=rule, tells_old=False)

    return done_here(reference, command, change)


def _needed(table: EditedTable, overwritten: Collection[str]) -> list[str]:
    """Return the columns of old rows that anything depends on, in the order of the table."""
    opened = table.opened
    unread = set(overwritten) - set(key_and_partition(opened))
    if not opened.table.partition_follows_key:
        unread = set()  # the old row is written too
    return [name for name in opened.arrow_schema.names if name not in unread]


def _whole(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with all columns of a table: null where they were not read."""
    if rows.num_columns == len(schema):
        return rows
    columns = [
        rows.column(field.name)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def done_here(
    reference: TableReference,
    command: str,
    change: Callable[[EditedTable, KeyRule], EditReport],
) -> DoneEdit | None:
    """Change a table with a key in one commit; None: ask the engine.

    Args:
        reference: the table.
        command: the name of it, for messages.
        change: commits one attempt, given what is demanded of the keys of new rows; raises
            ``NotHereError`` where the engine is to be asked.

    Raises:
        ArcticError: as ``change``.
    """
    rule = KeyRule(command=command, counts_all=False, checks_inserts=False)

    def attempt(table: EditedTable) -> EditReport:
        if not table.opened.table.is_keyed or table.opened.table.weighs_rows:
            raise NotHereError
        return change(table, rule)

    try:
        return edited(reference, attempt)
    except NotHereError:
        return None


def small(job: ScanJob) -> ScanJob:
    """Return a read that is not too much for this process.

    Raises:
        NotHereError: it is.
    """
    kinds = () if job.plan is None else summed_up(job.plan).opened
    rows, size = (sum(kind.rows for kind in kinds), sum(kind.size_bytes for kind in kinds))
    if rows > MOST_ROWS or size > MOST_BYTES:
        raise NotHereError
    return job
