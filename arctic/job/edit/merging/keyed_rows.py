"""Stored rows that a key tells apart: found by their keys where that is enough, changed by events.

Rules:
    - Of an old row the change store keeps all columns, or those alone that tell where it is: null
      in a column that was not read would be taken for what was stored.

Memory: the rows with the keys of a source, or a part of the table; the new rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable, event_schema, events, key_and_partition
from arctic.job.edit.key_changes import NewKeys, update_events
from arctic.job.edit.merging.merge_clauses import MergePlan, When
from arctic.job.edit.merging.merge_source import source_keys
from arctic.job.read.locate import locate_rows


class KeyedRows:
    """See ``merge_pairs.StoredRows``."""

    def __init__(self, table: EditedTable) -> None:
        self._table = table
        self._schema = event_schema(table.opened)
        self._new = NewKeys(table)
        self._is_whole = False
        """Whether every column of the stored rows is read."""

    def found(self, plan: MergePlan, source: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows with the keys of the source, or all.

        Raises:
            ConflictError: the state that is merged into has expired.
        """
        opened = self._table.opened
        names = self._columns(plan)
        if plan.key is None or plan.of(When.NOT_MATCHED_BY_SOURCE):
            yield from self._table.parts(names)
            return
        wanted = [opened.arrow_schema.field(name) for name in names]
        locator = locate_rows(opened, wanted=wanted, state=self._table.state)
        yield locator(source_keys(self._table, source, plan.key))

    def _columns(self, plan: MergePlan) -> list[str]:
        opened = self._table.opened
        every = opened.arrow_schema.names
        names = plan.target_columns(every, key_and_partition(opened))
        if plan.updates and not opened.table.partition_follows_key:
            names = every  # an old row tells its partition, and is written for that
        self._is_whole = names == every
        return names

    def named(self, row: pa.Table) -> str:
        """Return the key."""
        key = row.select(list(self._table.opened.table.primary_key)).to_pylist()[0]
        return f"with key {key}"

    def deleted(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield deletes of their keys."""
        self._new.forget(rows)
        yield from self._gone(rows)

    def updated(self, old: pa.Table, new: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the new row, and the old one too where it is whole.

        Where the key changes it is a delete, and the new row is held.
        """
        stays, changes = self._new.split(old, new)
        yield from update_events(self._table, *stays, tells_old=self._is_whole)
        yield from self._gone(changes[0])

    def _gone(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        if not self._is_whole:
            rows = rows.select(key_and_partition(self._table.opened))
        yield from events(rows, "D", self._schema).to_batches()

    def insert(self, rows: pa.Table) -> None:
        """Hold rows whose keys must be new."""
        self._new.hold(rows)

    def inserted(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that were held, once no two rows share a key."""
        yield from events(self._new.checked(), "I", self._schema).to_batches()
