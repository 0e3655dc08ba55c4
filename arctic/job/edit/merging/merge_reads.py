"""What a merge has looked at in its table, for whoever compares it with the commits of others."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable
from arctic.job.edit.expressions import SOURCE, TARGET, mentioned
from arctic.job.edit.merging.merge_clauses import MergePlan, When
from arctic.job.edit.merging.merge_source import source_keys
from arctic.job.edit.sql_rows import ROW, numbered_rows, own, query
from arctic.job.write.beside.read_rows import ReadRows, compared


def merge_reads(
    table: EditedTable, source: pa.Table, plan: MergePlan, matched: Sequence[pa.Table]
) -> ReadRows:
    """Return which rows a merge looks at: those that its source matches.

    Where a clause is for rows that no row of the source matches, it looks at all of them. One that
    it leaves as it is may go, but what comes in its place may have to be changed.

    Args:
        table: in the state that is read.
        source: the rows that are merged.
        plan: what is done.
        matched: keys of the stored rows that matched, complete once all are read; of a merge that
            looks its rows up by the keys of the source, and without a key, they are not asked for.
    """
    return compared(_read(table, source, plan, matched), table.opened.table.properties)


def _read(
    table: EditedTable, source: pa.Table, plan: MergePlan, matched: Sequence[pa.Table]
) -> ReadRows:
    by_source = bool(plan.of(When.NOT_MATCHED_BY_SOURCE))
    key = plan.key
    if key is not None and not by_source:
        return ReadRows(sees=None, keys=lambda: source_keys(table, source, key))
    schema = table.opened.arrow_schema

    def sees(rows: pa.Table) -> bool:
        if by_source or not rows.num_rows:
            return by_source
        found = query(
            f"SELECT {TARGET}.{ROW} AS {own('t')} FROM {TARGET} JOIN {SOURCE} ON ({plan.on}\n) "
            "LIMIT 1",
            {TARGET: numbered_rows(rows), SOURCE: numbered_rows(source)},
            subject=f"merge on {plan.on!r}",
        )
        return bool(found.num_rows)

    def keys() -> pa.Table:
        of_key = pa.schema([schema.field(name) for name in table.opened.table.primary_key])
        return pa.concat_tables([of_key.empty_table(), *(each.cast(of_key) for each in matched)])

    return ReadRows(sees=sees, columns=frozenset(mentioned([plan.on], schema.names)), keys=keys)
