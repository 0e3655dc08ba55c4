"""Which row of a source acts on which row of the table, and what comes of it.

Must not know: what tells stored rows apart, or how they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from arctic.columns.integers.distinct import are_among
from arctic.errors import InvalidInputError
from arctic.job.edit.commit_edit import EditedTable
from arctic.job.edit.expressions import SOURCE, TARGET
from arctic.job.edit.merging.merge_clauses import Clause, MergePlan, When
from arctic.job.edit.merging.merge_source import source_rows
from arctic.job.edit.sql_rows import (
    ROW,
    clause_case,
    fitted,
    numbered_rows,
    own,
    paired_values,
    query,
)

_T, _S, _C = own("t"), own("s"), own("c")
"""Of a pair: the numbers of its rows, and of the clause that acts on it."""


class StoredRows(Protocol):
    """The rows of a table, and what is written where they change."""

    def found(self, plan: MergePlan, source: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows that may match or may be left alone, part by part, each row once."""

    def named(self, row: pa.Table) -> str:
        """Return what tells a row apart, for a message."""

    def deleted(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield what has to be written for rows that go."""

    def updated(self, old: pa.Table, new: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield what has to be written for rows that change."""

    def insert(self, rows: pa.Table) -> None:
        """Take new rows, all other changes being known only later."""

    def inserted(self) -> Iterator[pa.RecordBatch]:
        """Yield what has to be written for new rows, behind all other changes."""


class MergePairs:
    """One attempt at a merge that reads rows of the table."""

    def __init__(
        self, table: EditedTable, source: pa.Table, plan: MergePlan, stored: StoredRows
    ) -> None:
        self.deleted = self.updated = self.inserted = 0
        self.matched_keys: list[pa.Table] = []
        """Of the stored rows that some row of the source matches; none without a key."""
        self._table = table
        self._source = source
        self._plan = plan
        self._stored = stored
        self._seen = np.zeros(source.num_rows, dtype=bool)
        """Rows of the source that match some row of the table."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield what is to be written: for stored rows first, then for new ones."""
        for rows in self._stored.found(self._plan, self._source):
            yield from self._matched(rows)
        self._insert()
        yield from self._stored.inserted()

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
        if self._table.opened.table.is_keyed:
            key = list(self._table.opened.table.primary_key)
            self.matched_keys.append(rows.select(key).filter(pa.array(~alone)))
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
        several = are_among(t, t[~first])
        if not deletes[c[several]].all():
            row = rows.slice(int(t[several][~deletes[c[several]]][0]), 1)
            raise InvalidInputError(
                f"merge into table {self._table.opened.table.name!r}: cardinality violation: "
                f"several rows of the source act on the stored row {self._stored.named(row)}; "
                "expected at most one; nothing was changed"
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
            yield from self._stored.deleted(old)
            return
        self.updated += len(t)
        yield from self._stored.updated(old, self._updated(clause.values, rows, old, t, s))

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
                self._stored.insert(source_rows(self._table, rows, places, clause.values or {}))


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table.column(name).to_numpy()).astype(np.int64)
