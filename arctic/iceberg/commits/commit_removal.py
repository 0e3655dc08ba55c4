"""Taking rows out of base by what lists them: one snapshot of base, or nothing.

Rules:
    - Whole partitions go as an overwrite replaces them: what lies in them at the commit, and every
      change up to a sequence number. Changes that are committed meanwhile stay on top, unless the
      caller's check refuses them. Where not the partition's value but its files say that all of
      it goes, they must be the same files.
    - Single files go only if they are still there, and nobody has deleted rows of them since.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.commit_loop import CommitResult, commit_snapshot
from arctic.iceberg.commits.commit_notes import with_notes
from arctic.iceberg.commits.staging import (
    dated_beside,
    live_files,
    operation,
    staged_on,
    staged_with_state,
)
from arctic.iceberg.commits.together.other_store import Check, CheckedHeads, noticed_by
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.metadata.entries import (
    entries_of,
    is_delete_manifest,
    live_manifests,
    partition_of,
)
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.table.commit_plan import RemoveRows
from arctic.table.files import FileKind, Partition


def commit_removal(
    opened: OpenTable, plan: RemoveRows, *, check: Check | None = None
) -> CommitResult | None:
    """Leave files and partitions out of base.

    Args:
        opened: the table.
        plan: what goes, and what takes its place.
        check: refuses heads on which it must not be committed, beside what the plan says.

    Returns:
        The snapshot; None when there is nothing to leave out.

    Raises:
        ConflictError: a file is gone or has new deletes, changes were merged meanwhile, or other
            writers won every retry; nothing was committed.
        CommitStateUnknownError: the snapshot may have been committed.
        StorageError: the catalog or a file cannot be reached; nothing was committed.
    """
    removal = _Removal(
        plan=plan,
        added=data_files(
            plan.files,
            opened.table,
            spec_id=opened.base.spec().spec_id,
            kinds=(FileKind.BASE,),
        ),
        keys=partition_keys(opened.table) if opened.table.is_keyed else None,
        change=opened.change,
    )
    if check is None:

        def stage(head: Table, snapshot_id: int) -> StagedSnapshot | None:
            staged = removal.stage(head, snapshot_id)
            if staged is None:
                return None
            return noticed_by(dated_beside(staged, opened.change, replaces=True), opened.change)

        return commit_snapshot(newest(opened.base), stage)
    heads = CheckedHeads(opened, check, of_base=True)
    return commit_snapshot(newest(opened.base), heads.staged(removal.stage), check=heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removal:
    plan: RemoveRows
    added: tuple[DataFile, ...]
    keys: PartitionKeys | None
    """None: the table has no change store, hence no optimized sequence."""
    change: Table | None

    def stage(self, head: Table, snapshot_id: int) -> StagedSnapshot | None:
        """Build one attempt on a fresh head; None when it would change nothing."""
        plan = self.plan
        is_moved = head.metadata.current_snapshot_id != plan.planned_at
        checks_deletes = is_moved and bool(plan.removed_paths)
        live = live_files(head) if plan.partitions or checks_deletes else {}
        if checks_deletes:
            self._check_deletes(head, {live[path] for path in plan.removed_paths & live.keys()})
        inside = {path for path, partition in live.items() if partition in plan.partitions}
        if plan.known_paths is not None:
            self._check_files(head, inside - plan.known_paths - plan.known_deletes)
        removed = plan.removed_paths | inside
        what = SnapshotPlan(
            operation=operation(bool(self.added), True),
            added=self.added,
            removed_paths=removed,
            summary=plan.summary,
        )
        what = with_notes(head, what, other=self.change)
        hides = plan.change_sequence_number or 0
        if self.keys is None or not plan.partitions or not hides:
            return staged_on(head, what, snapshot_id) if removed else None
        before = read_state(head.metadata, head.io, head.metadata.current_snapshot_id, self.keys)
        ahead = max((before.sequence.get(each, 0) for each in plan.partitions), default=0)
        if ahead > hides:
            raise ConflictError(
                f"changes up to sequence number {ahead} were merged while partitions were removed "
                f"with those up to {hides}; remove them again"
            )
        state = before.advanced(plan.partitions, hides, time.time_ns() // 1_000_000)
        if not removed and state.sequence == before.sequence:
            return None
        return staged_with_state(head, what, snapshot_id, state=state, keys=self.keys)

    def _check_files(self, head: Table, new: Collection[str]) -> None:
        if new:
            raise ConflictError(
                f"table {'.'.join(head.name())!r}: {len(new)} files such as {min(new)!r} came to a "
                "partition that was to be removed; try again"
            )

    def _check_deletes(self, head: Table, partitions: Collection[Partition]) -> None:
        """Refuse deletes in the partitions of single files that the plan does not know.

        Those of others apply to no file that goes, and the plan need not have listed them.
        """
        manifests = [
            each
            for each in live_manifests(head, head.current_snapshot())
            if is_delete_manifest(each)
        ]
        width = len(head.spec().fields)
        for _, entries in entries_of(head.io, manifests):
            for entry in entries:
                file = entry.data_file
                is_near = partition_of(file.partition, width) in partitions
                if is_near and file.file_path not in self.plan.known_deletes:
                    raise ConflictError(
                        f"table {'.'.join(head.name())!r}: rows were deleted by others meanwhile; "
                        "try again"
                    )
