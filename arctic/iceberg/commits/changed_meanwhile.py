"""What others did to the rows of a table between the beginning of a write and its commit.

Rules:
    - Each commit of base is looked at: rows that came and went again may have been read in between.
    - The rows of the change store that a commit of base hides are looked at too: a removal may do
      nothing else.
    - A commit that replaces files by others with the same rows is no change. In a table with a key
      optimizing does only that, and expiry removes only change files that base holds: a reader who
      knows rows by their keys has read the same.
    - A commit of which nothing can be found out any more counts as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
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
from arctic.iceberg.snapshots.list_files import list_added
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.table.files import Partition, TableFile
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitBeside:
    """A commit of others."""

    snapshot_id: int
    sequence_number: int
    name: str
    """What a message calls it."""
    is_append: bool
    """Whether it adds rows, or changes, and does nothing else."""


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
    for snapshot in _changes_since(change, before):
        raise ConflictError(
            f"table {'.'.join(change.name())!r} was at sequence number "
            f"{before.change_sequence_number} when this commit was prepared, and others have "
            f"committed changes since, in {_named(snapshot)} for one; look at the table again and "
            "prepare it anew"
        )
    check_unchanged(base, before.base_snapshot_id, concerns=lambda _: True, keys=keys)


def changes_since(opened: OpenTable, before: TableSnapshot) -> list[CommitBeside]:
    """Return the commits of changes since a state, oldest first; what only expires is none.

    Args:
        opened: the table, with a key.
        before: the state.

    Raises:
        ConflictError: some have expired.
    """
    found = [] if opened.change is None else _changes_since(opened.change, before)
    return [_told(each) for each in found]


def rows_since(
    opened: OpenTable, before: TableSnapshot, *, moves: bool = False
) -> list[CommitBeside]:
    """Return the commits to base since a state, oldest first.

    Args:
        opened: the table, without a key.
        before: the state.
        moves: whether what puts files in the place of others with the same rows is one.

    Raises:
        ConflictError: some have expired.
    """
    later = _commits_since(opened.base, before.base_snapshot_id)
    return [_told(each) for each in later if moves or not _keeps_rows(each, merges_count=True)]


def check_base_unchanged(opened: OpenTable, before: TableSnapshot) -> None:
    """Refuse where others have changed rows of base since a state of a table with a key.

    Args:
        opened: the table.
        before: the state.

    Raises:
        ConflictError: rows came or went, or nobody can tell any more.
        StorageError: a manifest cannot be read.
    """
    keys = partition_keys(opened.table)
    check_unchanged(opened.base, before.base_snapshot_id, concerns=lambda _: True, keys=keys)


def added_by(
    opened: OpenTable, commit: CommitBeside, *, field_ids: Collection[int]
) -> tuple[TableFile, ...]:
    """Return the data files that a commit of rows or changes has added.

    Args:
        opened: the table.
        commit: of the store where its changes go, or its rows without a key.
        field_ids: the columns whose bounds are wanted.
    """
    return list_added(
        opened,
        in_base=opened.change is None,
        snapshot_id=commit.snapshot_id,
        added_by={commit.snapshot_id},
        after_sequence=commit.sequence_number - 1,
        field_ids=field_ids,
    )


def _told(snapshot: Snapshot) -> CommitBeside:
    return CommitBeside(
        snapshot_id=snapshot.snapshot_id,
        sequence_number=snapshot.sequence_number or 1,
        name=_named(snapshot),
        is_append=snapshot.summary is not None and snapshot.summary.operation is Operation.APPEND,
    )


def _named(snapshot: Snapshot) -> str:
    what = "no known operation" if snapshot.summary is None else snapshot.summary.operation.value
    return f"snapshot {snapshot.snapshot_id} ({producer_of(snapshot) or what})"


def _changes_since(change: Table, before: TableSnapshot) -> list[Snapshot]:
    later = _commits_since(change, before.change_snapshot_id)
    return [each for each in later if not _only_expires(each)]


def _commits_since(head: Table, before: int | None) -> list[Snapshot]:
    """Return the commits after a snapshot, oldest first; all of them where that is None."""
    ancestry = lineage(head.metadata, head.current_snapshot())
    later = list(takewhile(lambda each: each.snapshot_id != before, ancestry))
    is_known = len(later) < len(ancestry)
    if not is_known and (before is not None or not reaches_beginning(head.metadata, ancestry)):
        raise _conflict(head, "what was committed meanwhile has expired")
    return later[::-1]


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
    later = _commits_since(head, since)[::-1]
    ancestry = lineage(head.metadata, head.current_snapshot())
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
            raise _conflict(head, f"{_named(newest)} changed partition {found[0]}")


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
