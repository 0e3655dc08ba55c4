"""One snapshot of a published table: what changed since the last one, or nothing.

Rules:
    - It is made on top of the snapshot that it was worked out on. Where another publisher was
      faster, the state to show is pinned anew: an older state never follows a newer one.
    - Whoever deletes files of the pair asks its published tables first. So a publisher looks, once
      its snapshot is there, whether the state that it shows is still there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from arctic.errors import ArcticError, CommitStateUnknownError, ConflictError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.cleaning.expire_snapshots import KeepRules, expire_snapshots
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.ownership.folders import is_own
from arctic.iceberg.ownership.reachable import normalised, referenced_paths
from arctic.iceberg.publishing.published_table import register_published
from arctic.iceberg.publishing.shown_files import NO_SNAPSHOT
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.expiry import is_old
from arctic.table.files import FileKind, WrittenFile
from arctic.table.property_names import PUBLISHED_BASE, PUBLISHED_CHANGE
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedChange:
    """What a publish changes."""

    planned_at: int | None
    """The snapshot of the published table that it was worked out on."""
    state: TableSnapshot
    """Of the pair."""
    added: tuple[DataFile, ...]
    """Data files of the pair."""
    written: tuple[WrittenFile, ...]
    """New delete files, or copies of data files."""
    vectors: tuple[DataFile, ...]
    """New deletion vectors."""
    removed_paths: frozenset[str]
    """Data and delete files."""

    @property
    def new_paths(self) -> tuple[str, ...]:
        """Files that nobody else refers to."""
        return (
            *(file.path for file in self.written),
            *(file.file_path for file in self.vectors),
        )


def commit_published(
    published: Table, opened: OpenTable, change: PublishedChange, *, is_new: bool
) -> int | None:
    """Commit a publish; return its snapshot.

    Args:
        published: the table that shows the pair.
        opened: the pair.
        change: what is to be shown from now on.
        is_new: no catalog knows the published table yet, and this is its first snapshot.

    Raises:
        ConflictError: others have published meanwhile; nothing was committed.
        CommitStateUnknownError: the catalog did not answer.
        StorageError: the catalog or a file cannot be reached; nothing was committed.
    """
    written = data_files(
        change.written,
        opened.table,
        spec_id=published.spec().spec_id,
        kinds=(FileKind.POS_DELETE, FileKind.BASE),
    )
    deletes = change.vectors or any(file.kind is FileKind.POS_DELETE for file in change.written)
    only_adds = bool(change.added or written) and not deletes and not change.removed_paths
    state = change.state
    what = SnapshotPlan(
        operation=Operation.APPEND if only_adds else Operation.OVERWRITE,
        added=(*change.added, *written, *change.vectors),
        removed_paths=change.removed_paths,
        summary={
            PUBLISHED_BASE: _text(state.base_snapshot_id),
            PUBLISHED_CHANGE: _text(state.change_snapshot_id),
        },
    )

    def stage(head: Table, snapshot_id: int) -> StagedSnapshot:
        if head.metadata.current_snapshot_id != change.planned_at:
            name = ".".join(head.name())
            raise ConflictError(f"table {name!r}: others published to it meanwhile; publish again")
        return staged_on(head, what, snapshot_id)

    if is_new:
        return _first(published, what)
    committed = commit_snapshot(published, stage)
    return None if committed is None else committed.snapshot_id


def _first(new: Table, what: SnapshotPlan) -> int:
    staged = staged_on(new, what, new.metadata.new_snapshot_id())
    try:
        register_published(new, staged.updates)
    except CommitStateUnknownError:
        raise
    except ArcticError:
        staged.discard()
        raise
    return staged.snapshot_id


def forget_old(published: Table, *, keep_ms: int, min_count: int, now_ms: int) -> Sequence[str]:
    """Expire old snapshots of a published table, with the files of its own that only they had.

    Files of the pair are the pair's to delete.

    Args:
        published: the table, as it was loaded: what came since is not old.
        keep_ms: how long its snapshots stay.
        min_count: how many of them stay in any case.
        now_ms: the time.

    Returns:
        The files that were deleted.

    Raises:
        ConflictError: other commits won every retry; nothing was removed.
        StorageError: the catalog or a file cannot be reached.
    """
    times = [each.timestamp_ms for each in published.metadata.snapshots]
    if not any(is_old(each, duration_ms=keep_ms, now_ms=now_ms) for each in times):
        return ()
    rules = KeepRules(keep_ms=keep_ms, min_count=min_count, now_ms=now_ms)
    removed = expire_snapshots(published, rules, needed=frozenset, dry_run=False)
    if not removed.snapshots:
        return ()
    found = {normalised(file.path): file.path for file in removed.files()}
    kept = referenced_paths(refresh(published))
    paths = [path for name, path in found.items() if name not in kept and is_own(path, [published])]
    left = set(TableIO.of(published).delete_quietly(paths))
    return [path for path in paths if path not in left]


def _text(snapshot_id: int | None) -> str:
    return NO_SNAPSHOT if snapshot_id is None else str(snapshot_id)
