"""Stored rows that a key tells apart: found by their keys where that is enough, changed by events.

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

    def found(self, plan: MergePlan, source: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows with the keys of the source, or all.

        Raises:
            ConflictError: the state that is merged into has expired.
        """
        opened = self._table.opened
        names = plan.target_columns(opened.arrow_schema.names, key_and_partition(opened))
        if plan.key is None or plan.of(When.NOT_MATCHED_BY_SOURCE):
            yield from self._table.parts(names)
            return
        wanted = [opened.arrow_schema.field(name) for name in names]
        locator = locate_rows(opened, wanted=wanted, state=self._table.state)
        yield locator(source_keys(self._table, source, plan.key))

    def named(self, row: pa.Table) -> str:
        """Return the key."""
        key = row.select(list(self._table.opened.table.primary_key)).to_pylist()[0]
        return f"with key {key}"

    def deleted(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield deletes of their keys."""
        self._new.forget(rows)
        yield from events(rows, "D", self._schema).to_batches()

    def updated(self, old: pa.Table, new: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield both images; where the key changes a delete, and the new row is held."""
        stays, changes = self._new.split(old, new)
        yield from update_events(self._table, *stays, tells_old=True)
        yield from events(changes[0], "D", self._schema).to_batches()

    def insert(self, rows: pa.Table) -> None:
        """Hold rows whose keys must be new."""
        self._new.hold(rows)

    def inserted(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that were held, once no two rows share a key."""
        yield from events(self._new.checked(), "I", self._schema).to_batches()
