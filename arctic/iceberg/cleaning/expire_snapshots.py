"""Removing snapshots from the metadata of a store, and then the files that only they had.

Rules:
    - A commit names what it relies on: the table's UUID and where every branch and tag is. A
      handle that is out of date loses the race, is loaded again and plans anew; it never drops a
      branch or tag.
    - Files are deleted only after the commit landed, and only those that no snapshot of either
      store reaches by metadata that was loaded after it.

Source: amoro IcebergTableMaintainer.expireSnapshots @96a4d781a. Differs: what snapshots that stay
need in order to be read stays too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
    TableUpdate,
    ValidatableTableRequirement,
)

from arctic.errors import ArcticError, ConflictError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.asking.staged_snapshot import commit_metadata
from arctic.iceberg.commits.commit_loop import commit_policy
from arctic.iceberg.metadata.history import predecessor_id
from arctic.iceberg.metadata.sequence_file import tells_merged
from arctic.iceberg.ownership.reachable import ReachedFile, reached_files
from arctic.iceberg.translate import catalog_errors
from arctic.table.expire_report import ExpiredKind
from arctic.table.expiry import Head, SnapshotRecord, expired_snapshots, is_old

_CHECKPOINT = "flink.max-committed-checkpoint-id"
"""Summary key by which a restarted Flink job finds what it has committed already."""
_NEXT_ID = -1
"""Stands for a snapshot that a dry run takes to be committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRules:
    """How long snapshots of one store stay."""

    keep_ms: int
    min_count: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedSnapshots:
    """Snapshots that went, with the store as it was right before."""

    before: Table
    snapshots: tuple[Snapshot, ...]
    """The oldest first."""

    @property
    def ids(self) -> frozenset[int]:
        """Their ids."""
        return frozenset(each.snapshot_id for each in self.snapshots)

    @property
    def statistics(self) -> tuple[StatisticsFile, ...]:
        """The statistics that went with them."""
        return tuple(
            each for each in self.before.metadata.statistics if each.snapshot_id in self.ids
        )

    def files(self) -> Iterator[ReachedFile]:
        """Yield every file that they reach, whoever else reaches it.

        Raises:
            StorageError: a manifest or manifest list cannot be read.
        """
        yield from reached_files(self.before, self.snapshots)
        for each in self.statistics:
            yield ReachedFile(
                kind=ExpiredKind.STATISTICS,
                path=each.statistics_path,
                size_bytes=each.file_size_in_bytes,
            )


def expire_snapshots(
    store: Table,
    rules: KeepRules,
    *,
    needed: Callable[[], frozenset[int]],
    dry_run: bool,
    commits_next: bool = False,
) -> RemovedSnapshots:
    """Remove the snapshots of a store that are old and that nobody needs.

    Args:
        store: names the store; it is not changed.
        rules: how long they stay.
        needed: asked on every attempt for the snapshots that the other store needs.
        dry_run: only say which.
        commits_next: in a dry run, whether another snapshot is taken to be committed before.

    Raises:
        ConflictError: other commits won every retry; nothing was removed.
        StorageError: the catalog cannot be reached. The snapshots may have been removed, which
            loses nothing: their files then wait for the search for orphans.
    """
    head = copy(store)
    policy = commit_policy(head.properties)
    for _ in policy.tries():
        refresh(head)
        found = _expired(head, rules, needed(), commits_next=dry_run and commits_next)
        if dry_run or not found.snapshots or _committed(head, found):
            return found
    raise ConflictError(
        f"table {'.'.join(store.name())!r}: other commits won every attempt to remove snapshots; "
        "expire again"
    )


def base_snapshots_to_read(base: Table, *, keep_ms: int, now_ms: int) -> frozenset[int]:
    """Return the base snapshots for whose sake the change store keeps some of its own.

    Those that are young, and those that a branch or tag names. Not the current one if it is old:
    for it every change since it was made would have to stay.
    """
    metadata = base.metadata
    young = {
        each.snapshot_id
        for each in metadata.snapshots
        if not is_old(each.timestamp_ms, duration_ms=keep_ms, now_ms=now_ms)
    }
    named = {ref.snapshot_id for name, ref in metadata.refs.items() if name != MAIN_BRANCH}
    return frozenset(young | named)


def _expired(
    head: Table, rules: KeepRules, needed: frozenset[int], *, commits_next: bool
) -> RemovedSnapshots:
    metadata = head.metadata
    records = [_record(each) for each in metadata.snapshots]
    heads = list(_heads(metadata, rules))
    if commits_next:
        records.append(
            SnapshotRecord(
                snapshot_id=_NEXT_ID,
                parent_id=metadata.current_snapshot_id,
                sequence_number=metadata.next_sequence_number(),
                timestamp_ms=rules.now_ms,
            )
        )
        heads[0] = Head(snapshot_id=_NEXT_ID, min_count=heads[0].min_count, keep_ms=rules.keep_ms)
    expired = expired_snapshots(
        records, heads=heads, needed=needed, keep_ms=rules.keep_ms, now_ms=rules.now_ms
    )
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    return RemovedSnapshots(
        before=copy(head), snapshots=tuple(by_id[each.snapshot_id] for each in expired)
    )


def _heads(metadata: TableMetadata, rules: KeepRules) -> Iterator[Head]:
    """Yield the current snapshot, then what other branches and tags name."""
    if metadata.current_snapshot_id is not None:
        main = metadata.refs.get(MAIN_BRANCH)
        yield _head(metadata.current_snapshot_id, main, rules.min_count, rules.keep_ms)
    for name, ref in metadata.refs.items():
        if name != MAIN_BRANCH:
            yield _head(ref.snapshot_id, ref, 1, 0)


def _head(snapshot_id: int, ref: SnapshotRef | None, min_count: int, keep_ms: int) -> Head:
    if ref is not None and ref.snapshot_ref_type == SnapshotRefType.BRANCH:
        min_count = max(min_count, ref.min_snapshots_to_keep or 1)
        keep_ms = max(keep_ms, ref.max_snapshot_age_ms or 0)
    return Head(snapshot_id=snapshot_id, min_count=min_count, keep_ms=keep_ms)


def _record(snapshot: Snapshot) -> SnapshotRecord:
    summary = snapshot.summary
    return SnapshotRecord(
        snapshot_id=snapshot.snapshot_id,
        parent_id=predecessor_id(snapshot),
        sequence_number=snapshot.sequence_number or 0,
        timestamp_ms=snapshot.timestamp_ms,
        tells_merged=tells_merged(snapshot),
        holds_checkpoint=summary is not None and summary[_CHECKPOINT] is not None,
    )


def _committed(head: Table, found: RemovedSnapshots) -> bool:
    """Commit once; False: another commit won the race."""
    with catalog_errors(f"remove snapshots of {'.'.join(head.name())!r}"):
        try:
            commit_metadata(head, updates=_updates(found), requirements=_requirements(head))
        except CommitFailedException:
            return False
        except ValueError as error:
            # Somebody else has removed one of these snapshots, and nothing that is required here.
            if isinstance(error, ArcticError) or "does not exist" not in str(error):
                raise
            return False
    return True


def _updates(found: RemovedSnapshots) -> Iterable[TableUpdate]:
    for snapshot_id in sorted({each.snapshot_id for each in found.statistics}):
        yield RemoveStatisticsUpdate.model_validate({"snapshot-id": snapshot_id})
    ids = [each.snapshot_id for each in found.snapshots]
    yield RemoveSnapshotsUpdate.model_validate({"snapshot-ids": ids})


def _requirements(head: Table) -> Iterable[Any]:
    yield AssertTableUUID(uuid=head.metadata.table_uuid)
    for name, ref in head.metadata.refs.items():
        yield AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
    if not isinstance(head.catalog, RestCatalog):
        yield _NoOtherRefs(names=frozenset(head.metadata.refs))


class _NoOtherRefs(ValidatableTableRequirement):
    """No branch or tag was made meanwhile: it would go with the snapshot that it names.

    The protocol of REST catalogs cannot say this; the others check it in this process.
    """

    type: str = "arctic-no-other-refs"
    names: frozenset[str]

    def validate(  # type: ignore[override]  # PyIceberg's name hides one of pydantic
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata with a branch or tag that is not known here."""
        new = sorted(set(base_metadata.refs) - self.names) if base_metadata is not None else []
        if new:
            raise CommitFailedException(f"Requirement failed: {new[0]} was created concurrently")
