"""What may be cleaned away: which change files are done with, and which snapshots.

Rules:
    - A change file goes only when its data sequence number is merged, never by transaction id:
      visibility compares the sequence number.
    - In a table with ordering columns a change delete holds against late rows for as long: it stays
      while rows wait to be merged that were committed in that time. Where nobody knows when it was
      committed, as in a clone, it counts from the first commit that is known to have it.
    - "Older than" includes the very moment, so that a duration of 0 means at once.
    - A lineage is cut at one place: what stays of it has no gaps, because expiry takes the id of
      a parent that is gone from its children.
    - Whatever stays still finds out what is merged in it, or that nothing is.

Source: amoro MixedTableMaintainer, IcebergTableMaintainer @96a4d781a. Differs: the sequence number
decides about change files, and lineages keep no gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arctic.table.files import Partition
from arctic.table.snapshot import NOTHING_MERGED

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFile:
    """A live file of the change store."""

    path: str
    partition: Partition
    sequence_number: int
    """The data sequence number."""
    size_bytes: int
    added_ms: int | None
    """When the snapshot that added it was committed; None: that snapshot has expired, or is one of
    the table that this one was cloned from."""
    seen_ms: int
    """When the first snapshot was committed that is known to have it: at ``added_ms``, or later."""
    is_delete: bool = False
    """Whether it holds change deletes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRecord:
    """A snapshot of one store."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    tells_merged: bool = False
    """Whether it says itself what is merged: it carries a marker of the optimized sequence."""
    holds_checkpoint: bool = False
    """Whether a streaming writer finds in it how far it had come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A snapshot that a branch or a tag names."""

    snapshot_id: int
    min_count: int
    """Snapshots of its lineage that stay in any case, itself included; at least 1."""
    keep_ms: int
    """Age below which those of its lineage stay."""


def is_old(timestamp_ms: int, *, duration_ms: int, now_ms: int) -> bool:
    """Say whether something has reached an age.

    >>> is_old(1_000, duration_ms=0, now_ms=1_000)
    True
    >>> is_old(1_000, duration_ms=1, now_ms=1_000)
    False
    """
    return timestamp_ms <= now_ms - duration_ms


def duration_text(duration_ms: int) -> str:
    """Return a duration as reasons give it.

    >>> duration_text(7_200_000), duration_text(1_500)
    ('120 minutes', '1500 ms')
    """
    minutes, rest = divmod(duration_ms, _MINUTE_MS)
    return f"{duration_ms} ms" if rest else f"{minutes} minute{'' if minutes == 1 else 's'}"


def expired_changes(
    files: Iterable[ChangeFile],
    *,
    merged: Mapping[Partition, int],
    ttl_ms: int,
    now_ms: int,
    is_ordered: bool = False,
) -> tuple[ChangeFile, ...]:
    """Return the change files that base holds already and that are old enough, oldest first.

    Args:
        files: of one snapshot of the change store.
        merged: the optimized sequence of each partition, inclusive, of the committed base store.
        ttl_ms: how long a change file is kept after its commit.
        now_ms: milliseconds since 1970-01-01 UTC.
        is_ordered: whether the table has ordering columns.

    Source: amoro MixedTableMaintainer.ChangeTableMaintainer @96a4d781a. Differs: by sequence
    number; a file whose transaction is merged but whose commit is not stays.
    """
    every = tuple(files)
    waiting = _oldest_waiting(every, merged) if is_ordered else {}
    expired = (
        file
        for file in every
        if file.sequence_number <= merged.get(file.partition, NOTHING_MERGED)
        and (
            is_old(file.seen_ms, duration_ms=ttl_ms, now_ms=now_ms)
            or (file.added_ms is None and not (file.is_delete and is_ordered))
        )
        and not (file.is_delete and _holds_against(waiting.get(file.partition), file, ttl_ms))
    )
    return tuple(sorted(expired, key=lambda file: (file.sequence_number, file.path)))


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The oldest change of a partition that is not merged."""

    added_ms: int | None
    """None: unknown."""


def _oldest_waiting(
    files: Iterable[ChangeFile], merged: Mapping[Partition, int]
) -> Mapping[Partition, _Waiting]:
    found: dict[Partition, _Waiting] = {}
    for file in files:
        if file.sequence_number <= merged.get(file.partition, NOTHING_MERGED):
            continue
        known = found.get(file.partition)
        if known is not None and (file.added_ms is None or known.added_ms is None):
            found[file.partition] = _Waiting(None)
        elif known is None or (file.added_ms or 0) < (known.added_ms or 0):
            found[file.partition] = _Waiting(file.added_ms)
    return found


def _holds_against(oldest: _Waiting | None, delete: ChangeFile, ttl_ms: int) -> bool:
    """Say whether a change that waits may have been committed while a delete held."""
    if oldest is None:
        return False
    return oldest.added_ms is None or oldest.added_ms < delete.seen_ms + ttl_ms


def expired_snapshots(
    snapshots: Sequence[SnapshotRecord],
    *,
    heads: Sequence[Head],
    needed: frozenset[int],
    keep_ms: int,
    now_ms: int,
) -> tuple[SnapshotRecord, ...]:
    """Return the snapshots of one store that nobody needs any more, the oldest first.

    Args:
        snapshots: all of the store.
        heads: what branches and tags name, the current snapshot among them.
        needed: snapshots that the other store needs.
        keep_ms: age below which a snapshot stays, wherever it is.
        now_ms: milliseconds since 1970-01-01 UTC.
    """
    by_id = {each.snapshot_id: each for each in snapshots}
    checkpoints = [each for each in snapshots if each.holds_checkpoint]
    firm = needed | {each.snapshot_id for each in _newest(checkpoints)}
    kept = {
        each.snapshot_id
        for each in snapshots
        if each.snapshot_id in firm
        or not is_old(each.timestamp_ms, duration_ms=keep_ms, now_ms=now_ms)
    }
    for head in heads:
        kept.update(_upper_part(by_id, head, firm, now_ms))
    telling = [each for each in snapshots if each.tells_merged]
    if telling:
        kept.update(each.snapshot_id for each in _newest(telling))
        kept.update(_ways_to_merged(by_id, kept))
    return tuple(
        sorted(
            (each for each in snapshots if each.snapshot_id not in kept),
            key=lambda each: (each.sequence_number, each.snapshot_id),
        )
    )


def ancestry(by_id: Mapping[int, SnapshotRecord], snapshot_id: int) -> Iterator[SnapshotRecord]:
    """Yield a snapshot and its known ancestors, newest first."""
    found = by_id.get(snapshot_id)
    while found is not None:
        yield found
        found = None if found.parent_id is None else by_id.get(found.parent_id)


def _upper_part(
    by_id: Mapping[int, SnapshotRecord], head: Head, firm: frozenset[int], now_ms: int
) -> list[int]:
    """Return a lineage down to the last snapshot of it that has to stay."""
    lineage = list(ancestry(by_id, head.snapshot_id))
    last = head.min_count - 1
    for position, each in enumerate(lineage):
        if each.snapshot_id in firm or not is_old(
            each.timestamp_ms, duration_ms=head.keep_ms, now_ms=now_ms
        ):
            last = max(last, position)
    return [each.snapshot_id for each in lineage[: last + 1]]


def _ways_to_merged(by_id: Mapping[int, SnapshotRecord], kept: Iterable[int]) -> set[int]:
    """Return what lies between snapshots and the one that tells what is merged in them.

    Where none tells, the way leads to the first snapshot of all: reaching it is the proof that
    nothing was merged.
    """
    ways: set[int] = set()
    for snapshot_id in list(kept):
        for each in ancestry(by_id, snapshot_id):
            if each.snapshot_id in ways:
                break
            ways.add(each.snapshot_id)
            if each.tells_merged:
                break
    return ways


def _newest(snapshots: Sequence[SnapshotRecord]) -> list[SnapshotRecord]:
    return sorted(snapshots, key=lambda each: each.sequence_number)[-1:]
