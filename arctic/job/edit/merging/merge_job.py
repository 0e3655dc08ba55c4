"""Merging rows of a source into a table, in one commit.

Strategy: where the condition is that the whole key is equal and no clause looks at a stored row,
the source is written as events and no row of the table is read. Where it is equality of the key,
the rows with these keys are looked up, in their nodes, with the columns that are needed. Else the
table is read, part by part. A table without a key is always read: its rows are known by where they
are stored.

Rules:
    - A stored row on which several rows of the source would act is refused, unless all of them
      delete it; so is a key that two rows would get.
    - In a table with ordering columns a row of the source is an event: one that is late loses.
    - What was read must be there still when it is committed, else all of it is done again.

Memory: the source; the rows that it matches where they are looked up, or a part of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.job.edit.commit_edit import EditedTable, commit_events, edited
from arctic.job.edit.commit_places import commit_placed
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.merging.keyed_rows import KeyedRows
from arctic.job.edit.merging.merge_blind import blind_events
from arctic.job.edit.merging.merge_clauses import Clause, MergePlan, merge_plan
from arctic.job.edit.merging.merge_pairs import MergePairs
from arctic.job.edit.merging.merge_reads import merge_reads
from arctic.job.edit.merging.placed_rows import PlacedRows
from arctic.job.reference import TableReference

ClausesOf = Callable[[pa.Schema, str], Sequence[Clause]]


def merge_rows(
    reference: TableReference,
    source: pa.Table,
    on: str | Sequence[str] | None,
    clauses: ClausesOf,
) -> DoneEdit:
    """Merge a source into a table.

    Args:
        reference: the table.
        source: its rows.
        on: the columns that are equal, or a condition; None: the key of the table.
        clauses: what to do with a table of these columns and this name.

    Raises:
        InvalidInputError: a clause that cannot be carried out, a row of the table on which several
            of the source act, or two rows with one key.
        ConflictError: others committed during every attempt; nothing was merged.
        CommitStateUnknownError: the catalog did not answer; look before merging again.
    """
    return edited(reference, lambda table: _merged(table, source, on, clauses))


def _merged(
    table: EditedTable,
    source: pa.Table,
    on: str | Sequence[str] | None,
    clauses: ClausesOf,
) -> EditReport:
    opened = table.opened
    plan = merge_plan(
        on,
        clauses(opened.arrow_schema, opened.table.name),
        schema=opened.arrow_schema,
        key=opened.table.primary_key,
        source=source.schema,
        name=opened.table.name,
    )
    if not opened.table.is_keyed:
        merge = MergePairs(table, source, plan, PlacedRows(table))
        read = merge_reads(table, source, plan, ())
        return _reported(table, merge, commit_placed(table, merge.batches(), read=read))
    if plan.key is not None:
        _refuse_null_keys(source, plan.key, opened.table.name)
    if plan.needs_no_target(opened.arrow_schema.names):
        blind = blind_events(table, source, plan)
        if blind is not None:
            return _blindly(table, plan, blind)
    merge = MergePairs(table, source, plan, KeyedRows(table))
    read = merge_reads(table, source, plan, merge.matched_keys)
    return _reported(table, merge, commit_events(table, merge.batches(), read=read))


def _blindly(table: EditedTable, plan: MergePlan, events: pa.Table) -> EditReport:
    snapshot_id, rows = commit_events(table, iter(events.to_batches()), read=None)
    return EditReport(
        table=table.opened.table.name,
        snapshot_id=snapshot_id,
        rows_deleted=None if plan.deletes else 0,
        rows_updated=None,
        rows_inserted=None,
        rows_written=rows,
        reads_table=False,
    )


def _reported(
    table: EditedTable, merge: MergePairs, committed: tuple[int | None, int]
) -> EditReport:
    return EditReport(
        table=table.opened.table.name,
        snapshot_id=committed[0],
        rows_deleted=merge.deleted,
        rows_updated=merge.updated,
        rows_inserted=merge.inserted,
        rows_written=committed[1],
    )


def _refuse_null_keys(source: pa.Table, key: Mapping[str, str], name: str) -> None:
    for theirs in key.values():
        if source.column(theirs).null_count:
            raise InvalidInputError(
                f"merge into table {name!r}: column {theirs!r} of the source, which says the key, "
                "is null in some row, and null equals no key; leave these rows out"
            )
