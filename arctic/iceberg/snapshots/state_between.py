"""The state of a table between two commits, known by how far each of its stores was.

Rules:
    - Base snapshots that only rewrote rows are as good as those before them, so the newest one
      counts that holds no later change. None is passed over that replaced rows.
    - A state of which a part has expired is refused: it would lack rows.
"""

from __future__ import annotations

from arctic.iceberg.metadata.history import lineage, reaches_beginning
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.change_log import check_base, expired_history, stream_store
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys


def state_between(
    opened: OpenTable, sequence_number: int, base_sequence_number: int
) -> tuple[int | None, int | None]:
    """Return the snapshots of base and change store after these commits, None for none yet.

    Args:
        opened: a keyed table, its stores refreshed.
        sequence_number: the last commit of the change store, inclusive; 0 for none.
        base_sequence_number: the last one of the base store, likewise.

    Raises:
        NotFoundError: a snapshot of the state has expired.
        UnsupportedError: rows were replaced where no snapshot of the state says so.
        FormatError: what is merged is not readable.
    """
    return (
        _base_id(opened, sequence_number, base_sequence_number),
        _change_id(opened, sequence_number),
    )


def _change_id(opened: OpenTable, sequence_number: int) -> int | None:
    store = stream_store(opened)
    for snapshot in lineage(store.metadata, store.current_snapshot()):
        if (snapshot.sequence_number or 0) == sequence_number:
            return snapshot.snapshot_id
    if sequence_number == 0:
        return None
    raise expired_history(opened, store, f"the snapshot of commit {sequence_number} has expired")


def _base_id(opened: OpenTable, sequence_number: int, base_sequence_number: int) -> int | None:
    base, keys = opened.base, partition_keys(opened.table)
    ancestry = lineage(base.metadata, base.current_snapshot())
    for snapshot in ancestry:
        own = snapshot.sequence_number or 0
        if own > base_sequence_number:
            continue
        merged = read_state(base.metadata, base.io, snapshot.snapshot_id, keys).sequence
        if max(merged.values(), default=0) <= sequence_number:
            check_base(opened, own, base_sequence_number)
            return snapshot.snapshot_id
    if not reaches_beginning(base.metadata, ancestry):
        raise expired_history(
            opened, base, f"the state after commit {sequence_number} of its changes has expired"
        )
    check_base(opened, 0, base_sequence_number)
    return None
