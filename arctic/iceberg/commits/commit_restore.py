"""Bringing an earlier state of a table back: one snapshot of base, or nothing.

Rules:
    - Base begins again with the files of its earlier snapshot, and every change that was committed
      by then counts as merged. So one commit of one store changes both, and no state lies between.
    - The snapshot's parent is the one that it brings back, as after a rollback: whoever expires by
      parents deletes no file that came back. What it came after in time stands in its summary.
    - What others commit to the change store meanwhile stays on top, as after an overwrite.
    - A new snapshot, never an old one made current again: a run of optimizing that was planned on
      the old one must not find it, and merge changes that are hidden now.
    - What comes back is there in the very moment of the commit: whoever removed it before deletes
      its files, and whoever comes later finds them in the new snapshot.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

from arctic.errors import ConflictError, NotFoundError
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot, StartFrom
from arctic.iceberg.commits.commit_loop import CommitResult, commit_snapshot
from arctic.iceberg.commits.commit_notes import with_notes
from arctic.iceberg.commits.staging import staged_on, staged_with_state
from arctic.iceberg.commits.together.other_store import replacing
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.metadata.entries import live_manifests, snapshot_of
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.list_files import check_specs
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.table.commit_plan import RestoreBase
from arctic.table.files import FileKind
from arctic.table.property_names import RESTORED_FROM, RESTORED_OVER, RESTORED_OVER_CHANGES

_KINDS = (FileKind.BASE, FileKind.POS_DELETE)


def commit_restore(opened: OpenTable, plan: RestoreBase) -> CommitResult | None:
    """Let an earlier state be the newest one.

    Returns:
        The snapshot; None where the table has no snapshot yet.

    Raises:
        NotFoundError: the snapshot that is to come back has expired.
        ConflictError: changes were merged meanwhile, or committed where that must not be, or
            other writers won every retry; nothing was committed.
        CommitStateUnknownError: the snapshot may have been committed.
        UnsupportedError: files of another partition spec.
        StorageError: the catalog or a file cannot be reached; nothing was committed.
    """
    restore = _Restore(
        plan=plan,
        added=data_files(
            plan.files, opened.table, spec_id=opened.base.spec().spec_id, kinds=_KINDS
        ),
        keys=partition_keys(opened.table) if opened.table.is_keyed else None,
        change=opened.change,
    )

    replaced_up_to = (plan.change_sequence_number or 0) if plan.must_be_newest_change else None
    stage = replacing(restore.stage, opened.change, replaced_up_to=replaced_up_to)
    return commit_snapshot(newest(opened.base), stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restore:
    plan: RestoreBase
    added: tuple[DataFile, ...]
    keys: PartitionKeys | None
    """None: the table has no change store, hence no optimized sequence."""
    change: Table | None

    def stage(self, head: Table, snapshot_id: int) -> StagedSnapshot:
        """Build one attempt on a fresh head."""
        return _while_there(self._staged(head, snapshot_id), self.plan.base_snapshot_id)

    def _staged(self, head: Table, snapshot_id: int) -> StagedSnapshot:
        over = head.metadata.current_snapshot_id
        back = self.plan.base_snapshot_id
        if back is not None and head.metadata.snapshot_by_id(back) is None:
            raise NotFoundError(
                f"table {'.'.join(head.name())!r}: snapshot {back}, which is to come back, has "
                "expired"
            )
        check_specs(head, live_manifests(head, snapshot_of(head, back)))
        hidden = self.plan.change_sequence_number or 0
        summary = {RESTORED_FROM: "none" if back is None else str(back)}
        if over is not None:
            summary[RESTORED_OVER] = str(over)
        what = SnapshotPlan(
            operation=Operation.OVERWRITE,
            added=self.added,
            removed_paths=self.plan.removed_paths,
            summary=summary,
            # Expiry forgets the snapshot sooner than the changes that it hides.
            properties={RESTORED_OVER_CHANGES: str(hidden)} if hidden else {},
            start=StartFrom(snapshot_id=back),
        )
        what = with_notes(head, what, other=self.change)
        if self.keys is None:
            return staged_on(head, what, snapshot_id)
        before = read_state(head.metadata, head.io, over, self.keys)
        ahead = max(before.sequence.values(), default=0)
        if ahead > hidden:
            raise ConflictError(
                f"changes up to sequence number {ahead} were merged while a state was restored "
                f"that hides those up to {hidden}; restore it again"
            )
        if not hidden:
            return staged_on(head, what, snapshot_id)
        then = read_state(head.metadata, head.io, back, self.keys)
        covered = {*before.sequence, *then.sequence, *self.plan.change_partitions}
        covered |= {file.partition for file in self.plan.files}
        if not covered:
            return staged_on(head, what, snapshot_id)
        state = before.advanced(covered, hidden, time.time_ns() // 1_000_000)
        return staged_with_state(head, what, snapshot_id, state=state, keys=self.keys)


def _while_there(staged: StagedSnapshot, snapshot_id: int | None) -> StagedSnapshot:
    """Return an attempt that lands only while a snapshot has not expired.

    No requirement of the protocol says that. But no catalog gives a name to a snapshot that is not
    there, so the commit gives it one, and takes it away again.
    """
    if snapshot_id is None:
        return staged
    name, kind = f"restored-by-{staged.snapshot_id}", SnapshotRefType.TAG.value
    given = {"ref-name": name, "type": kind, "snapshot-id": snapshot_id}
    named = SetSnapshotRefUpdate.model_validate(given)
    unnamed = RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
    return replace(staged, updates=(named, unnamed, *staged.updates))
