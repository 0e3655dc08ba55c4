"""Merging rows of a source into a table with a key, in one commit.

Strategy: where the condition is that the whole key is equal and no clause looks at a stored row,
the source is written as events and no row of the table is read. Where it is equality of the key,
the rows with these keys are looked up, in their nodes, with the columns that are needed. Else the
table is read, part by part.

Rules:
    - A stored row on which several rows of the source would act is refused, unless all of them
      delete it; so is a key that two rows would get.
    - What was read must be what is committed on, else all of it is done again.

Memory: the source; the rows that it matches where they are looked up, or a part of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from arctic.errors import ConflictError, InvalidInputError, UnsupportedError
from arctic.job.edit.commit_edit import (
    EditedTable,
    commit_events,
    edited,
    event_schema,
    events,
    key_and_partition,
)
from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.key_changes import NewKeys, update_events
from arctic.job.edit.merge_blind import blind_events
from arctic.job.edit.merge_clauses import Clause, MergePlan, When, merge_plan
from arctic.job.edit.merge_source import source_keys, source_rows
from arctic.job.edit.sql_rows import (
    ROW,
    SOURCE,
    TARGET,
    clause_case,
    fitted,
    numbered_rows,
    own,
    paired_values,
    query,
)
from arctic.job.read.locate import locate_rows
from arctic.job.reference import TableReference

ClausesOf = Callable[[pa.Schema, str], Sequence[Clause]]
_T, _S, _C = own("t"), own("s"), own("c")
"""Of a pair: the numbers of its rows, and of the clause that acts on it."""
_PART_ROWS = 1_000_000
"""Rows of the table that are compared with the source at a time."""


def merge_rows(
    reference: TableReference,
    source: pa.Table,
    on: str | Sequence[str],
    clauses: ClausesOf,
) -> EditReport:
    """Merge a source into a table.

    Args:
        reference: the table.
        source: its rows.
        on: the columns that are equal, or a condition.
        clauses: what to do with a table of these columns and this name.

    Raises:
        InvalidInputError: a clause that cannot be carried out, a row of the table on which several
            of the source act, or two rows with one key.
        UnsupportedError: a table without a key.
        ConflictError: others committed during every attempt; nothing was merged.
        CommitStateUnknownError: the catalog did not answer; look before merging again.
    """
    return edited(reference, lambda table: _merged(table, source, on, clauses))


def _merged(
    table: EditedTable, source: pa.Table, on: str | Sequence[str], clauses: ClausesOf
) -> EditReport:
    opened = table.opened
    if not opened.table.is_keyed:
        raise UnsupportedError(
            f"merge into table {opened.table.name!r}: it has no primary key; delete and append, or "
            "merge into a table with a key"
        )
    plan = merge_plan(
        on,
        clauses(opened.arrow_schema, opened.table.name),
        schema=opened.arrow_schema,
        key=opened.table.primary_key,
        source=source.schema,
        name=opened.table.name,
    )
    if plan.key is not None:
        _refuse_null_keys(source, plan.key, opened.table.name)
    if plan.needs_no_target(opened.arrow_schema.names):
        blind = blind_events(table, source, plan)
        if blind is not None:
            snapshot_id, rows = commit_events(table, iter(blind.to_batches()), is_blind=True)
            return EditReport(
                table=opened.table.name,
                snapshot_id=snapshot_id,
                rows_deleted=None if plan.deletes else 0,
                rows_updated=None,
                rows_inserted=None,
                rows_written=rows,
                reads_table=False,
            )
    merge = _Merge(table, source, plan)
    snapshot_id, rows = commit_events(table, merge.batches())
    return EditReport(
        table=opened.table.name,
        snapshot_id=snapshot_id,
        rows_deleted=merge.deleted,
        rows_updated=merge.updated,
        rows_inserted=merge.inserted,
        rows_written=rows,
    )


class _Merge:
    """One attempt at a merge that reads rows of the table."""

    def __init__(self, table: EditedTable, source: pa.Table, plan: MergePlan) -> None:
        self.deleted = self.updated = self.inserted = 0
        self._table = table
        self._source = source
        self._plan = plan
        self._schema = event_schema(table.opened)
        self._new = NewKeys(table)
        self._seen = np.zeros(source.num_rows, dtype=bool)
        """Rows of the source that match some row of the table."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the events: of stored rows first, then of new keys."""
        for rows in self._target_rows():
            yield from self._matched(rows)
        self._insert()
        yield from events(self._new.checked(), "I", self._schema).to_batches()

    def _target_rows(self) -> Iterator[pa.Table]:
        opened, plan = self._table.opened, self._plan
        names = plan.target_columns(opened.arrow_schema.names, key_and_partition(opened))
        if plan.key is not None and not plan.of(When.NOT_MATCHED_BY_SOURCE):
            wanted = [opened.arrow_schema.field(name) for name in names]
            locator = locate_rows(opened, wanted=wanted, is_fresh=True)
            if locator.snapshot != self._table.state:
                raise ConflictError(
                    f"table {opened.table.name!r}: others committed meanwhile; try again"
                )
            yield locator(source_keys(self._table, self._source, plan.key))
            return
        job = self._table.read(names)
        part: list[pa.RecordBatch] = []
        for batch in job.batches():
            part.append(batch)
            if sum(each.num_rows for each in part) >= _PART_ROWS:
                yield pa.Table.from_batches(part)
                part = []
        yield pa.Table.from_batches(part, schema=job.schema)

    def _matched(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        plan = self._plan
        case = clause_case([clause.condition for clause in plan.of(When.MATCHED)])
        pairs = query(
            f"SELECT {TARGET}.{ROW} AS {_T}, {SOURCE}.{ROW} AS {_S}, {case} AS {_C} "
            f"FROM {TARGET} JOIN {SOURCE} ON ({plan.on}\n) ORDER BY {_T}, {_S}",
            {TARGET: numbered_rows(rows), SOURCE: numbered_rows(self._source)},
            subject=f"merge on {plan.on!r}",
        )
        t, s, c = (_numbers(pairs, name) for name in (_T, _S, _C))
        self._seen[s] = True
        alone = np.ones(rows.num_rows, dtype=bool)
        alone[t] = False
        acting = c >= 0
        t, s, c = t[acting], s[acting], c[acting]
        t, s, c = self._once(rows, t, s, c)
        for number, clause in enumerate(plan.of(When.MATCHED)):
            own = c == number
            yield from self._act(clause, rows, t[own], s[own])
        if plan.of(When.NOT_MATCHED_BY_SOURCE):
            yield from self._by_source(rows.filter(pa.array(alone)))

    def _by_source(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        own = self._plan.of(When.NOT_MATCHED_BY_SOURCE)
        case = clause_case([clause.condition for clause in own])
        found = query(
            f"SELECT {case} AS {_C}, {ROW} FROM {TARGET} ORDER BY {ROW}",
            {TARGET: numbered_rows(rows)},
            subject="merge, rows not matched by source",
        )
        c = _numbers(found, _C)
        for number, clause in enumerate(own):
            yield from self._act(clause, rows, np.flatnonzero(c == number), None)

    def _once(
        self, rows: pa.Table, t: np.ndarray, s: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Refuse a stored row on which several rows of the source act, unless all delete it."""
        first = np.ones(len(t), dtype=bool)
        first[1:] = t[1:] != t[:-1]
        if first.all():
            return t, s, c
        deletes = np.array([clause.values is None for clause in self._plan.of(When.MATCHED)])
        several = np.isin(t, t[~first])
        if not deletes[c[several]].all():
            row = rows.slice(int(t[several][~deletes[c[several]]][0]), 1)
            key = row.select(list(self._table.opened.table.primary_key)).to_pylist()[0]
            raise InvalidInputError(
                f"merge into table {self._table.opened.table.name!r}: cardinality violation: "
                f"several rows of the source act on the stored row with key {key}; expected at "
                "most one; nothing was changed"
            )
        return t[first], s[first], c[first]

    def _act(
        self, clause: Clause, rows: pa.Table, t: np.ndarray, s: np.ndarray | None
    ) -> Iterator[pa.RecordBatch]:
        if not len(t):
            return
        old = rows.take(pa.array(t))
        if clause.values is None:
            self.deleted += len(t)
            self._new.forget(old)
            yield from events(old, "D", self._schema).to_batches()
            return
        self.updated += len(t)
        new = self._updated(clause.values, rows, old, t, s)
        stays, changes = self._new.split(old, new)
        yield from update_events(*stays, self._schema)
        yield from events(changes[0], "D", self._schema).to_batches()

    def _updated(
        self,
        given: Mapping[str, str],
        rows: pa.Table,
        old: pa.Table,
        t: np.ndarray,
        s: np.ndarray | None,
    ) -> pa.Table:
        tables, places = {TARGET: rows}, {TARGET: t}
        if s is not None:
            tables[SOURCE], places[SOURCE] = self._source, s
        found = paired_values(tables, places, given)
        schema = self._table.opened.arrow_schema
        columns = [
            fitted(found[field.name], field, what="new value")
            if field.name in found
            else old.column(field.name)
            for field in schema
        ]
        return pa.table(columns, schema=schema)

    def _insert(self) -> None:
        own = self._plan.of(When.NOT_MATCHED)
        left = np.flatnonzero(~self._seen)
        if not own or not len(left):
            return
        rows = self._source.take(pa.array(left))
        case = clause_case([clause.condition for clause in own])
        found = query(
            f"SELECT {case} AS {_C}, {ROW} FROM {SOURCE} ORDER BY {ROW}",
            {SOURCE: numbered_rows(rows)},
            subject="merge, rows not matched",
        )
        c = _numbers(found, _C)
        for number, clause in enumerate(own):
            places = np.flatnonzero(c == number)
            if len(places):
                self.inserted += len(places)
                self._new.hold(source_rows(self._table, rows, places, clause.values or {}))


def _refuse_null_keys(source: pa.Table, key: Mapping[str, str], name: str) -> None:
    for theirs in key.values():
        if source.column(theirs).null_count:
            raise InvalidInputError(
                f"merge into table {name!r}: column {theirs!r} of the source, which says the key, "
                "is null in some row, and null equals no key; leave these rows out"
            )


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table.column(name).to_numpy()).astype(np.int64)
