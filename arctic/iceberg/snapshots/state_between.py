"""The state of a table between two commits, known by how far each of its stores was.

Rules:
    - Base snapshots that only rewrote rows are as good as those before them, so the newest one
      counts that holds no later change. None is passed over that replaced rows.
    - A base commit that replaced the rows of a change came after it, whatever the clocks say.
    - A state of which a part has expired is refused: it would lack rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.table.snapshots import Snapshot

from arctic.iceberg.metadata.history import lineage, reaches_beginning, replaces_rows
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.change_log import check_base, expired_history, stream_store
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.table.files import Partition
from arctic.table.snapshot import NOTHING_MERGED


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


def base_beneath(
    opened: OpenTable, change: Snapshot
) -> tuple[tuple[Snapshot, Mapping[Partition, int]] | None, Snapshot | None]:
    """Return the base snapshot that a change snapshot lies on, and the first that replaced it.

    Args:
        opened: a keyed table.
        change: a snapshot of its change store.

    Returns:
        The newest base snapshot that is not dated after the change and not known to come after it,
        with what is merged in it; None: none is known. And the oldest one that comes after it,
        because it replaced rows of it, though it is not dated so; None: there is none.

    Raises:
        FormatError: what is merged is not readable.
        StorageError: the catalog or a file cannot be reached.
    """
    base, keys = opened.base, partition_keys(opened.table)
    sequence_number = change.sequence_number or 0
    found = over = None
    for snapshot in lineage(base.metadata, base.current_snapshot()):
        if snapshot.timestamp_ms > change.timestamp_ms:
            continue
        merged = read_state(base.metadata, base.io, snapshot.snapshot_id, keys).sequence
        held = max(merged.values(), default=NOTHING_MERGED)
        if found is None and held <= sequence_number:
            found = snapshot, merged
        if held < sequence_number:
            break  # those before hold no more
        if replaces_rows(snapshot):
            found, over = None, snapshot
    return found, over


def replaced_over(opened: OpenTable, change_id: int) -> int | None:
    """Return the number of the first base commit that replaced a change though not dated after it.

    Raises as ``base_beneath``.
    """
    change = None if opened.change is None else opened.change.metadata.snapshot_by_id(change_id)
    over = None if change is None else base_beneath(opened, change)[1]
    return None if over is None else over.sequence_number


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
