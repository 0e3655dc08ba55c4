"""Stored rows without a key, which are known by their file and their place in it.

What goes is marked in position deletes and what takes its place is appended, so nothing has an
order, and rows that are equal are different rows.

Memory: a part of the table; eight bytes for each row that goes; the new rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from arctic.errors import UnsupportedError
from arctic.job.edit.commit_edit import EditedTable, events
from arctic.job.edit.commit_places import deleted_places, place_schema, replaced_places
from arctic.job.edit.merging.merge_clauses import MergePlan
from arctic.table.row_positions import FILE, PLACE_COLUMNS, POSITION


class PlacedRows:
    """See ``merge_pairs.StoredRows``."""

    def __init__(self, table: EditedTable) -> None:
        for name in PLACE_COLUMNS:
            if name in table.opened.arrow_schema.names:
                raise UnsupportedError(
                    f"merge into table {table.opened.table.name!r}: its column {name!r} has a name "
                    "that a merge without a key needs for itself; rename the column"
                )
        self._table = table
        self._schema = place_schema(table)
        self._new: list[pa.Table] = []

    def found(self, plan: MergePlan, source: pa.Table) -> Iterator[pa.Table]:
        """Yield all rows, with where they are."""
        names = plan.target_columns(self._table.opened.arrow_schema.names, ())
        yield from self._table.parts([*names, FILE, POSITION])

    def named(self, row: pa.Table) -> str:
        """Return the row itself, as far as it was read."""
        return str(row.drop_columns([FILE, POSITION]).to_pylist()[0])

    def deleted(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield where they are."""
        yield from deleted_places(rows, self._schema)

    def updated(self, old: pa.Table, new: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the new rows, with where those are that they replace."""
        yield from replaced_places(old, new, self._schema)

    def insert(self, rows: pa.Table) -> None:
        """Hold new rows."""
        self._new.append(rows)

    def inserted(self) -> Iterator[pa.RecordBatch]:
        """Yield them."""
        for rows in self._new:
            yield from events(rows, "I", self._schema).to_batches()
