"""A state of the table that was pinned before, looked up by its snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.change_log import expired_history
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.table.files import Partition
from arctic.table.snapshot import TableSnapshot


def pinned_state(
    opened: OpenTable, base_snapshot_id: int | None, change_snapshot_id: int | None
) -> TableSnapshot:
    """Return a state that was pinned before.

    Raises:
        NotFoundError: a snapshot of it has expired.
        FormatError: what is merged is not readable.
    """
    pinned = ((opened.base, base_snapshot_id), (opened.change, change_snapshot_id))
    for store, snapshot_id in pinned:
        if store is None or snapshot_id is None:
            continue
        if store.metadata.snapshot_by_id(snapshot_id) is None:
            raise expired_history(
                opened, store, f"snapshot {snapshot_id}, which this stream begins with, is gone"
            )
    change = None
    if opened.change is not None and change_snapshot_id is not None:
        change = opened.change.metadata.snapshot_by_id(change_snapshot_id)
    merged: Mapping[Partition, int] = {}
    if opened.change is not None and base_snapshot_id is not None:
        base, keys = opened.base, partition_keys(opened.table)
        merged = read_state(base.metadata, base.io, base_snapshot_id, keys).sequence
    return TableSnapshot(
        base_snapshot_id=base_snapshot_id,
        change_snapshot_id=change_snapshot_id,
        change_sequence_number=0 if change is None else change.sequence_number or 0,
        optimized_sequence=merged,
    )


def has_expired(opened: OpenTable, state: TableSnapshot) -> bool:
    """Say whether a snapshot of a state is gone, by what the catalog says now.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    pinned = ((opened.base, state.base_snapshot_id), (opened.change, state.change_snapshot_id))
    return any(
        store is not None
        and snapshot_id is not None
        and newest(store).metadata.snapshot_by_id(snapshot_id) is None
        for store, snapshot_id in pinned
    )
