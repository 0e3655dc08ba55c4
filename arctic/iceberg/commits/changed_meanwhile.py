"""What others did to the rows of a table between the beginning of a write and its commit.

Rules:
    - Each commit of base is looked at: what came and went again may have been read in between.
    - So is what it hides of the change store, which is all that a removal may do.
    - A commit that only puts files in the place of others with the same rows is no change. In a
      table with a key that is all that optimizing does, and expiry takes no file of changes that
      base does not hold: who has read rows, and knows them by their keys, has read the same.
    - What cannot be found out any more counts as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from arctic.errors import ConflictError
from arctic.iceberg.commits.staging import live_files_of
from arctic.iceberg.metadata.history import (
    DATA_EXPIRATION,
    OPTIMIZE,
    lineage,
    producer_of,
    reaches_beginning,
)
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.values.partition_key import PartitionKeys
from arctic.table.files import Partition
from arctic.table.snapshot import TableSnapshot


def check_same_rows(
    base: Table, change: Table, before: TableSnapshot, *, keys: PartitionKeys
) -> None:
    """Refuse where others have changed a row of a table with a key since a state of it.

    Args:
        base: the base store, as it is now.
        change: the change store, as it is now.
        before: the state.
        keys: of the table.

    Raises:
        ConflictError: rows came, went or changed, or nobody can tell any more.
        StorageError: a manifest cannot be read.
    """
    _check_same_changes(change, before)
    check_unchanged(base, before.base_snapshot_id, concerns=lambda _: True, keys=keys)


def _check_same_changes(head: Table, before: TableSnapshot) -> None:
    ancestry = lineage(head.metadata, head.current_snapshot())
    later = list(takewhile(lambda each: each.snapshot_id != before.change_snapshot_id, ancestry))
    is_known = len(later) < len(ancestry)
    if before.change_snapshot_id is None:
        is_known = reaches_beginning(head.metadata, ancestry)
    if is_known and all(_only_expires(each) for each in later):
        return
    raise ConflictError(
        f"table {'.'.join(head.name())!r} was at sequence number {before.change_sequence_number} "
        "when this commit was prepared, and others have committed changes since; look at the "
        "table again and prepare it anew"
    )


def _only_expires(snapshot: Snapshot) -> bool:
    is_removal = snapshot.summary is not None and snapshot.summary.operation is Operation.DELETE
    return is_removal and producer_of(snapshot) == DATA_EXPIRATION


def check_unchanged(
    head: Table,
    since: int | None,
    *,
    concerns: Callable[[Partition], bool],
    keys: PartitionKeys | None,
) -> None:
    """Refuse to replace partitions whose rows others have changed since a snapshot.

    Args:
        head: the base store, as it is now.
        since: the snapshot that was current when the write began; None: there was none.
        concerns: whether a partition is replaced.
        keys: of a table with a key, whose changes a commit may hide; None: it has none. What
            optimizing merges is no change there: the sequence number is compared elsewhere.

    Raises:
        ConflictError: rows of such a partition came or went.
        StorageError: a manifest cannot be read.
    """
    ancestry = lineage(head.metadata, head.current_snapshot())
    later = list(takewhile(lambda each: each.snapshot_id != since, ancestry))
    is_known = len(later) < len(ancestry)
    if not is_known and (since is not None or not reaches_beginning(head.metadata, ancestry)):
        raise _conflict(head, "what was committed meanwhile has expired")
    before: list[Snapshot | None] = [*ancestry[1:], None][: len(later)]
    for newest, oldest in zip(later, before, strict=True):
        if _keeps_rows(newest, merges_count=keys is None):
            continue
        files = live_files_of(head, newest).items() ^ live_files_of(head, oldest).items()
        changed = {partition for _, partition in files}
        if keys is not None:
            now, then = _merged(head, newest, keys), _merged(head, oldest, keys)
            changed |= {each for each in {*now, *then} if now.get(each, 0) != then.get(each, 0)}
        found = sorted(repr(list(each)) for each in changed if concerns(each))
        if found:
            raise _conflict(
                head, f"commits up to snapshot {newest.snapshot_id} changed partition {found[0]}"
            )


def _merged(head: Table, snapshot: Snapshot | None, keys: PartitionKeys) -> Mapping[Partition, int]:
    """Return which changes a snapshot hides: whoever removes rows by metadata only moves that."""
    snapshot_id = None if snapshot is None else snapshot.snapshot_id
    return read_state(head.metadata, head.io, snapshot_id, keys).sequence


def _keeps_rows(snapshot: Snapshot, *, merges_count: bool) -> bool:
    summary = snapshot.summary
    if summary is None:
        return False
    if summary.operation is Operation.REPLACE:
        return True
    return not merges_count and producer_of(snapshot) == OPTIMIZE


def _conflict(head: Table, what: str) -> ConflictError:
    return ConflictError(
        f"table {'.'.join(head.name())!r}: {what} since this write began, which would "
        "lose what they did; write again"
    )
