"""Time in the metadata of a store: no commit is earlier than the one before it.

Clocks of machines differ and are set back; Java refuses metadata whose times do so by more than a
minute. A commit is given the time of the last one where the clock is behind it.

Rules:
    - The time of a snapshot is fixed where the snapshot is made, for every catalog.
    - The time of metadata is fixed where PyIceberg makes the metadata; a REST server makes its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate


def latest_ms(metadata: TableMetadata) -> int:
    """Return the latest time that a store's metadata names."""
    times = [
        metadata.last_updated_ms,
        *(entry.timestamp_ms for entry in metadata.snapshot_log[-1:]),
        *(entry.timestamp_ms for entry in metadata.metadata_log[-1:]),
    ]
    return max(times)


def not_before(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> list[TableUpdate]:
    """Return updates whose snapshots are not earlier than the metadata they are made for."""
    least_ms = latest_ms(metadata)
    return [
        _later(update, least_ms) if isinstance(update, AddSnapshotUpdate) else update
        for update in updates
    ]


def keep_order(catalog: Catalog) -> None:
    """Let a catalog that writes metadata itself never date it before the metadata it replaces."""
    if not isinstance(catalog, MetastoreCatalog):
        return
    stage = catalog._update_and_stage_table

    def staged_in_order(current: Table | None, *arguments: Any, **named: Any) -> StagedTable:
        staged = stage(current, *arguments, **named)
        least_ms = 0 if current is None else latest_ms(current.metadata)
        if staged.metadata.last_updated_ms < least_ms:
            update = {"last_updated_ms": least_ms}
            staged.metadata = staged.metadata.model_copy(update=update)
        return staged

    catalog._update_and_stage_table = staged_in_order  # type: ignore[method-assign,assignment]


def _later(update: AddSnapshotUpdate, least_ms: int) -> AddSnapshotUpdate:
    if update.snapshot.timestamp_ms >= least_ms:
        return update
    snapshot = update.snapshot.model_copy(update={"timestamp_ms": least_ms})
    return update.model_copy(update={"snapshot": snapshot})
