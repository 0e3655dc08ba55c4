"""The commits of the store where changes arrive, between two sequence numbers.

Rules:
    - Every commit of a range must be known, by its number. A number that is missing has expired or
      was rolled back: in each case rows could be lost, so the range is refused.
    - Without a key it may be a branch's. Then the last commit of the range must go back to the one
      before it by what each was committed on, without a gap; or, where that one has expired, the
      next one must have something of it.
    - Only what appends added is a change. Expiry takes files away: those before it are looked up
      in the snapshot right before it. Any other commit is refused.
    - The base store of a keyed table is watched for commits that replace rows: no change says so.

Must not know: offsets, rate limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from arctic.errors import NotFoundError, UnsupportedError
from arctic.iceberg.metadata.entries import all_manifests, entries_of, removed_of
from arctic.iceberg.metadata.history import (
    current_at,
    expires_rows,
    is_upkeep,
    lineage,
    operation_of,
    reaches_beginning,
    replaces_rows,
)
from arctic.iceberg.snapshots.list_files import list_added
from arctic.iceberg.tables.open_table import OpenTable
from arctic.options import (
    CHANGE_ROWS,
    CHANGE_TTL_MINUTES,
    SKIP_OVERWRITES,
    SNAPSHOT_KEEP_MS,
    STREAM_FROM,
)
from arctic.table.files import TableFile
from arctic.table.property_names import FOLLOWS


def stream_store(opened: OpenTable) -> Table:
    """Return the store whose commits are the stream: change, or base without a primary key."""
    return opened.base if opened.change is None else opened.change


def head_sequence(store: Table) -> int:
    """Return the sequence number of a store's newest snapshot; 0 without one."""
    head = store.current_snapshot()
    return 0 if head is None else head.sequence_number or 0


def sequence_at(opened: OpenTable, store: Table, timestamp_ms: int) -> int:
    """Return how far a store was at a time, inclusive.

    Raises:
        NotFoundError: the snapshot of that time has expired.
    """
    snapshot, is_certain = current_at(store.metadata, timestamp_ms)
    if not is_certain:
        raise expired_history(opened, store, f"the snapshot of time {timestamp_ms} has expired")
    return 0 if snapshot is None else snapshot.sequence_number or 0


def change_snapshot(opened: OpenTable, snapshot_id: int) -> Snapshot:
    """Return a snapshot of the stream's store, in the history of its newest one.

    Raises:
        NotFoundError: there is none, or it is that of the other store.
    """
    store = stream_store(opened)
    for snapshot in lineage(store.metadata, store.current_snapshot()):
        if snapshot.snapshot_id == snapshot_id:
            return snapshot
    if opened.change is not None and opened.base.metadata.snapshot_by_id(snapshot_id) is not None:
        raise NotFoundError(
            f"snapshot {snapshot_id} is one of the base store of table {opened.table.name!r}; "
            f"changes lie between snapshots of {'.'.join(store.name())!r}, as "
            f"'{opened.table.name}.snapshots' lists them"
        )
    raise expired_history(opened, store, f"snapshot {snapshot_id} is not in its history")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """Appends without a removal in between, so the last one still has the files of all."""

    last_id: int
    added_by: frozenset[int]


def added_between(
    opened: OpenTable, after: int, up_to: int, *, skips_overwrites: bool
) -> tuple[TableFile, ...]:
    """List the files that were committed in a range of sequence numbers, with bounds of their keys.

    Args:
        opened: the table, its stores refreshed.
        after: exclusive.
        up_to: inclusive.
        skips_overwrites: goes on where an unkeyed table's rows were replaced or removed.

    Raises:
        NotFoundError: a commit of the range has expired.
        UnsupportedError: a commit that is neither an append nor known to keep rows.
        StorageError: a manifest cannot be read.
    """
    commits = check_commits(opened, after, up_to, skips_overwrites=skips_overwrites)
    key_ids = tuple(column.field_id for column in opened.table.key_columns)
    return tuple(
        file
        for stretch in _stretches(commits)
        for file in list_added(
            opened,
            in_base=opened.change is None,
            snapshot_id=stretch.last_id,
            added_by=stretch.added_by,
            after_sequence=after,
            field_ids=key_ids,
        )
    )


def check_commits(
    opened: OpenTable, after: int, up_to: int, *, skips_overwrites: bool
) -> tuple[Snapshot, ...]:
    """Return the commits of a range, oldest first, or refuse it; raises as ``added_between``."""
    commits = _commits(opened, stream_store(opened), after, up_to)
    for snapshot in commits:
        if opened.change is None:
            if not skips_overwrites and replaces_rows(snapshot, also=(Operation.APPEND,)):
                raise _overwritten(opened, snapshot)
        elif operation_of(snapshot) not in (Operation.APPEND, Operation.DELETE):
            raise UnsupportedError(
                f"table {opened.table.name!r}: snapshot {snapshot.snapshot_id} of its change store "
                f"is a {_name(snapshot)}; expected appends and expiry only, so what it did to the "
                f"changes is not understood; begin a new stream with {STREAM_FROM.name} = earliest"
            )
    return commits


def check_base(opened: OpenTable, after: int, up_to: int | None = None) -> None:
    """Refuse base commits of a keyed table that replace or remove rows: no change says so.

    Args:
        opened: a keyed table, its stores refreshed.
        after: sequence number of the base store, exclusive.
        up_to: inclusive; None: the newest.

    Raises:
        UnsupportedError: there is such a commit.
        NotFoundError: a base commit of the range has expired, so nobody can tell.
    """
    for snapshot in replacing_commits(opened, after, up_to):
        raise _overwritten(opened, snapshot)


def replacing_commits(
    opened: OpenTable, after: int, up_to: int | None = None, *, with_expiry: bool = False
) -> tuple[Snapshot, ...]:
    """Return the base commits that ``check_base`` refuses, oldest first; NotFoundError as there.

    Args:
        opened: a keyed table, its stores refreshed.
        after: sequence number of the base store, exclusive.
        up_to: inclusive; None: the newest.
        with_expiry: those that took out rows that had become too old count too.
    """
    last = head_sequence(opened.base) if up_to is None else up_to
    return tuple(
        snapshot
        for snapshot in _commits(opened, opened.base, after, last)
        if replaces_rows(snapshot) or (with_expiry and expires_rows(snapshot))
    )


def expiring_commits(opened: OpenTable, after: int, up_to: int) -> tuple[Snapshot, ...]:
    """Return the commits that took out rows that had become too old, oldest first.

    Args:
        opened: a table without a key, refreshed.
        after: exclusive.
        up_to: inclusive.

    Raises:
        NotFoundError: a commit of the range has expired.
    """
    return tuple(filter(expires_rows, _commits(opened, opened.base, after, up_to)))


def _commits(opened: OpenTable, store: Table, after: int, up_to: int) -> tuple[Snapshot, ...]:
    """Return every commit of a range, oldest first; none may be missing."""
    ancestry = lineage(store.metadata, store.current_snapshot())
    if head_sequence(store) < after:
        raise expired_history(opened, store, f"commit {after} was rolled back")
    _check_is_ancestor(opened, store, ancestry, after)
    found = {each.sequence_number or 0: each for each in ancestry}
    missing = next((each for each in range(after + 1, up_to + 1) if each not in found), None)
    has_begin = after in found or (after == 0 and reaches_beginning(store.metadata, ancestry))
    is_whole = opened.change is None and up_to in found and has_begin
    if missing is not None and not is_whole:
        raise expired_history(opened, store, f"commit {missing} of {after + 1} to {up_to} is gone")
    if opened.change is None and after < up_to and not has_begin:
        _check_left_files(opened, found[after + 1], after)
    return tuple(found[each] for each in range(after + 1, up_to + 1) if each in found)


def _check_is_ancestor(
    opened: OpenTable, store: Table, ancestry: Sequence[Snapshot], sequence_number: int
) -> None:
    """Refuse to go on from a commit that was rolled back after it had been read."""
    known = {each.snapshot_id for each in ancestry}
    for snapshot in store.metadata.snapshots:
        if snapshot.sequence_number == sequence_number and snapshot.snapshot_id not in known:
            raise expired_history(opened, store, f"commit {sequence_number} was rolled back")


def _check_left_files(opened: OpenTable, follower: Snapshot, sequence_number: int) -> None:
    """Refuse to go on from a commit that has expired, unless the next one has something of it.

    It may have been rolled back before. No two commits of a store have one number. What the next
    one may have are its files, also those that it has removed, or a word that it lies on it.
    """
    if follower.summary is not None and follower.summary[FOLLOWS] == str(sequence_number):
        return
    listed = all_manifests(opened.base, follower)
    if any(each.sequence_number == sequence_number for each in listed):
        return
    io = opened.base.io
    merged = [each for each in listed if each.min_sequence_number <= sequence_number]
    live = (entry for _, entries in entries_of(io, merged) for entry in entries)
    removed = removed_of(io, listed, follower.snapshot_id)
    if all(entry.sequence_number != sequence_number for entry in chain(live, removed)):
        raise expired_history(
            opened, opened.base, f"commit {sequence_number} has expired, or was rolled back before,"
        )


def _stretches(commits: Iterable[Snapshot]) -> Iterator[_Stretch]:
    appends: list[int] = []
    for snapshot in commits:
        if operation_of(snapshot) is Operation.APPEND and not is_upkeep(snapshot):
            appends.append(snapshot.snapshot_id)
        elif appends:
            yield _Stretch(last_id=appends[-1], added_by=frozenset(appends))
            appends = []
    if appends:
        yield _Stretch(last_id=appends[-1], added_by=frozenset(appends))


def _name(snapshot: Snapshot) -> str:
    return f"{operation_of(snapshot).value!r} at {snapshot.timestamp_ms}"


def _overwritten(opened: OpenTable, snapshot: Snapshot) -> UnsupportedError:
    return UnsupportedError(
        f"table {opened.table.name!r}: snapshot {snapshot.snapshot_id} ({_name(snapshot)}) "
        "replaced or removed rows in the base store, and no change says so; begin a range of "
        f"changes after it, a stream anew with {STREAM_FROM.name} = earliest and a new checkpoint, "
        f"go on without these rows with {SKIP_OVERWRITES.name} = true, or follow the rows of a "
        f"table with a key with {CHANGE_ROWS.name} = net"
    )


def expired_history(opened: OpenTable, store: Table, what: str) -> NotFoundError:
    """Return the error for a history that is not there any more, with what keeps it longer."""
    kept = CHANGE_TTL_MINUTES if store is opened.change else SNAPSHOT_KEEP_MS
    skip = ""
    if store is opened.base and opened.change is not None:
        skip = f"; or go on without looking at base commits with {SKIP_OVERWRITES.name} = true"
    return NotFoundError(
        f"table {opened.table.name!r}: {what} in store {'.'.join(store.name())!r}, so rows could "
        f"be missed; begin a new checkpoint with {STREAM_FROM.name} = earliest, and keep history "
        f"longer than readers fall behind with table property {kept.name}{skip}"
    )
