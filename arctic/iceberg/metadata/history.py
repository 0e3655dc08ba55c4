"""Ancestry of snapshots, and where it has been cut off.

A snapshot that restores an earlier state has that one as its parent, as after a rollback: whoever
expires by parents then keeps its files. In time it came after the snapshot that it names besides.

Expiry leaves gaps in two ways: Java keeps the id of a parent that is gone, PyIceberg removes it.
So a snapshot without a parent is the first one of a store only if its sequence number says so.
"""

from __future__ import annotations

from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import Operation, Snapshot

from arctic.errors import FormatError
from arctic.table.property_names import RESTORED_OVER

PRODUCER = "snapshot.producer"
"""In a summary, as Amoro has it: what kind of upkeep made the snapshot."""
OPTIMIZE, CLEAN_DANGLING_DELETE = "OPTIMIZE", "CLEAN_DANGLING_DELETE"
DATA_EXPIRATION = "DATA_EXPIRATION"
UPKEEP = (OPTIMIZE, CLEAN_DANGLING_DELETE, DATA_EXPIRATION)
"""Producers of snapshots that no writer of rows has made, as Amoro names them."""
_FIRST_SEQUENCE_NUMBER = 1


def lineage(metadata: TableMetadata, snapshot: Snapshot | None) -> list[Snapshot]:
    """Return a snapshot and those that were current before it, newest first; nothing without one.

    It ends where one of them is not known any more.
    """
    if snapshot is None:
        return []
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    found = {snapshot.snapshot_id: snapshot}
    before = predecessor_id(snapshot)
    while before is not None and before in by_id and before not in found:
        found[before] = by_id[before]
        before = predecessor_id(by_id[before])
    return list(found.values())


def predecessor_id(snapshot: Snapshot) -> int | None:
    """Return the snapshot that was current when this one was committed; None: none is named."""
    over = None if snapshot.summary is None else snapshot.summary[RESTORED_OVER]
    return snapshot.parent_snapshot_id if over is None else int(over)


def producer_of(snapshot: Snapshot) -> str | None:
    """Return what a snapshot says made it; None: it does not say."""
    return None if snapshot.summary is None else snapshot.summary[PRODUCER]


def expires_rows(snapshot: Snapshot) -> bool:
    """Say whether a snapshot of base took rows out that had become too old.

    One of a change store that calls itself so left merged changes out, which are rows of base.
    """
    return producer_of(snapshot) == DATA_EXPIRATION


def operation_of(snapshot: Snapshot) -> Operation:
    """Return what a snapshot says it did.

    Raises:
        FormatError: it does not say.
    """
    if snapshot.summary is None:
        raise FormatError(
            f"snapshot {snapshot.snapshot_id} has no summary; expected one that names its operation"
        )
    return snapshot.summary.operation


def is_upkeep(snapshot: Snapshot) -> bool:
    """Say whether no writer of rows has made a snapshot.

    Rows that became too old are no change either: whoever follows a table has ages of its own.
    """
    return producer_of(snapshot) in UPKEEP


def replaces_rows(snapshot: Snapshot, *, also: tuple[Operation, ...] = ()) -> bool:
    """Say whether a base commit changes what rows there are, other than by ``also``."""
    operation = operation_of(snapshot)
    if is_upkeep(snapshot) or operation is Operation.REPLACE:
        return False
    return operation not in also


def reaches_beginning(metadata: TableMetadata, ancestry: list[Snapshot]) -> bool:
    """Say whether nothing is missing before the last snapshot of an ancestry."""
    if not ancestry:
        return not metadata.snapshots
    first = ancestry[-1]
    return (
        first.parent_snapshot_id is None and (first.sequence_number or 0) <= _FIRST_SEQUENCE_NUMBER
    )


def would_know(metadata: TableMetadata, sequence_number: int) -> bool:
    """Say whether a snapshot that others built on would be known; false where it may have expired.

    Args:
        metadata: of a store, which does not have the snapshot.
        sequence_number: of the snapshot, one above what was the last one of the store before it.
    """
    if isinstance(metadata, TableMetadataV1):
        return True  # it has no such numbers
    if metadata.last_sequence_number < sequence_number:
        return True
    line = lineage(metadata, metadata.current_snapshot())
    return any((each.sequence_number or 0) <= sequence_number for each in line)


def current_at(metadata: TableMetadata, timestamp_ms: int) -> tuple[Snapshot | None, bool]:
    """Return what was current at a time, and whether that is certain.

    Args:
        metadata: of a store.
        timestamp_ms: milliseconds since 1970-01-01 UTC; a commit at exactly this time counts.

    Returns:
        The snapshot, None if there was none yet; False if the one of that time has expired.
    """
    before = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= timestamp_ms]
    after = [entry for entry in metadata.snapshot_log if entry.timestamp_ms > timestamp_ms]
    found = metadata.snapshot_by_id(before[-1].snapshot_id) if before else None
    if before and found is None:
        return None, False
    if not after:
        return found, bool(before) or reaches_beginning(metadata, [])
    follower = metadata.snapshot_by_id(after[0].snapshot_id)
    if follower is None:
        return found, False
    ancestry = lineage(metadata, follower)
    if found is None:
        return None, reaches_beginning(metadata, ancestry)
    went_back = (follower.sequence_number or 0) < (found.sequence_number or 0)
    # An expired snapshot loses its line in the log, which shows in whom the next one descends from.
    return found, went_back or (found in ancestry and found != follower)


def set_back_ms(metadata: TableMetadata) -> int:
    """Return when an older snapshot of a store was made current again; 0: the newest one is.

    Args:
        metadata: of a store.
    """
    current, log = metadata.current_snapshot(), metadata.snapshot_log
    if current is None or not log or log[-1].timestamp_ms <= current.timestamp_ms:
        return 0
    return log[-1].timestamp_ms
