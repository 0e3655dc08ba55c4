"""Applying a commit plan: one snapshot of one store, or nothing.

Rules:
    - An overwrite is planned anew on every attempt, and replaces what lies in its partitions then:
      the rows that lay there when it began, since it is refused where others came or went.
    - Data, optimized sequence, statistics entry, marker and legacy property are one metadata
      commit: base never says that changes are merged that it does not hold.
    - A plan that changes nothing makes no snapshot, unless it says where somebody stands.

Source: amoro OverwriteBaseFiles, KeyedPartitionRewrite @96a4d781a. Differs: the optimized sequence
also advances where only changes are replaced and base has no file.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from arctic.errors import CommitStateUnknownError, ConflictError, InvalidInputError
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.sending import WITH_OTHERS, access_to
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.changed_meanwhile import check_same_rows, check_unchanged
from arctic.iceberg.commits.commit_loop import CommitResult, Stage, commit_snapshot
from arctic.iceberg.commits.commit_notes import with_notes
from arctic.iceberg.commits.staging import (
    dated_beside,
    live_files,
    operation,
    staged_on,
    staged_with_state,
)
from arctic.iceberg.commits.together.commit_together import WaitingCommit, commit_together
from arctic.iceberg.commits.together.other_store import (
    Check,
    CheckedHeads,
    SeenStore,
    beside,
    discarding,
    replacing,
)
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.partition_filter import PartitionFilter
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.retry import Patience, Turns
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.files import FileKind, Partition

_MOST_TOGETHER = 64
"""Commits of one swap of metadata: more would have the first wait for long."""
_PATIENCE = Patience(for_turn=60, for_others=15 * 60)
"""A commit takes seconds; one that waits for its catalog, or loses races, some minutes."""
_LINES: Turns[WaitingCommit] = Turns(_PATIENCE)
_CHANGE_KINDS = (FileKind.INSERT, FileKind.CHANGE_DELETE)
_BASE_KINDS = (FileKind.BASE,)
_KEYLESS_KINDS = (FileKind.BASE, FileKind.POS_DELETE)


def commit_append(
    opened: OpenTable,
    plan: AppendFiles,
    *,
    check: Check | None = None,
) -> CommitResult | None:
    """Add files: to the change store of a keyed table, to the base store of another one.

    Those of the latter may be position deletes too, and take the place of others.

    Args:
        opened: the table, opened just now.
        plan: what is added.
        check: refuses heads on which it must not be committed, instead of ``on_top_of``.

    Returns:
        The snapshot; None when the plan neither adds nor removes files, nor has a position.

    Raises:
        BatchLandedError: the plan's batch is in the table already; the files were not committed.
        ConflictError: other writers won every retry, or the table is not in the state any more
            that the plan expects; the files were not committed.
        CommitStateUnknownError: the files may have been committed.
        StorageError: the catalog or a file cannot be reached; the files were not committed.
    """
    if not plan.files and not plan.removed_paths and not plan.moves:
        return None
    store = opened.base if opened.change is None else opened.change
    other = None if opened.change is None else opened.base
    added = data_files(
        plan.files,
        opened.table,
        spec_id=store.spec().spec_id,
        kinds=_KEYLESS_KINDS if opened.change is None else _CHANGE_KINDS,
    )
    kinds = {file.kind for file in plan.files}
    removes = bool(plan.removed_paths) or FileKind.POS_DELETE in kinds
    adds = bool(kinds - {FileKind.POS_DELETE}) or not (kinds or plan.removed_paths)
    what = SnapshotPlan(
        operation=operation(adds, removes),
        added=added,
        removed_paths=plan.removed_paths,
    )

    seen = SeenStore(opened.base)

    def stage(head: Table, snapshot_id: int) -> StagedSnapshot:
        noted = with_notes(head, what, batch=plan.batch, watermark=plan.watermark, other=other)
        staged = staged_on(head, noted, snapshot_id)
        if check is None and plan.on_top_of is not None:
            with discarding(staged):
                if other is None:
                    _check_snapshot(head, plan.on_top_of.base_snapshot_id)
                else:
                    base = seen.newest(head)
                    keys = partition_keys(opened.table)
                    check_same_rows(base, head, plan.on_top_of, keys=keys)
                    staged = beside(staged, base)
        return dated_beside(staged, other, replaces=False)

    if check is not None:
        heads = CheckedHeads(opened, check, of_base=opened.change is None)
        return commit_snapshot(newest(store), heads.staged(stage), check=heads)
    if plan.on_top_of is not None or removes:
        return commit_snapshot(store, stage)
    return _commit_in_line(store, stage, branch=opened.branch)


def _commit_in_line(store: Table, stage: Stage, *, branch: str | None) -> CommitResult | None:
    """Commit what lands on any head; along with what other threads have waiting meanwhile."""
    if WITH_OTHERS.get() is not None:  # nobody has to wait until those have come as far
        return commit_snapshot(store, stage)
    check_writable(store.catalog)
    mine = WaitingCommit(store, stage)
    with _LINES.turn(_line_of(store, branch), mine, most=_MOST_TOGETHER) as turn:
        if turn.items == (mine,):
            return commit_snapshot(newest(store) if turn.waited else store, stage)
        if turn.items:
            commit_together(turn.items)
        elif turn.is_late and mine.outcome is None:
            raise CommitStateUnknownError(
                f"table {'.'.join(store.name())!r}: a thread of this process that commits for this "
                f"one too has not come back for {_PATIENCE.for_others / 60:.0f} minutes; look "
                "whether the rows are there before writing again"
            )
    return mine.landed()


def _line_of(store: Table, branch: str | None) -> Hashable:
    """Return what two stores share where one may commit for the other: branch, catalog and all."""
    return store.metadata.table_uuid, branch, store.name(), access_to(store.catalog)


def commit_overwrite(opened: OpenTable, plan: OverwriteBase) -> CommitResult | None:
    """Replace the base files of whole partitions, and the changes that lie on them.

    Args:
        opened: the table, opened just now.
        plan: what replaces them.

    Returns:
        The snapshot; None when nothing is added, removed or marked as merged, nor has the plan a
        position.

    Raises:
        BatchLandedError: the plan's batch is in the table already; the files were not committed.
        ConflictError: rows of its partitions came or went since it began, or other writers won
            every retry; the files were not committed.
        CommitStateUnknownError: the files may have been committed.
        UnsupportedError: base holds files of another partition spec.
        FormatError: the present optimized sequence is not readable.
        StorageError: the catalog or a file cannot be reached; the files were not committed.
    """
    added = data_files(
        plan.files, opened.table, spec_id=opened.base.spec().spec_id, kinds=_BASE_KINDS
    )
    keys = partition_keys(opened.table) if opened.table.is_keyed else None
    replaced = None if plan.where is None else PartitionFilter(opened.base, plan.where)
    for file in plan.files:
        if replaced is not None and not replaced.matches(file.partition):
            raise InvalidInputError(
                f"overwrite of table {opened.table.name!r} where {plan.where}: a row lies outside "
                f"of that, in partition {list(file.partition)}; its rows must be of what they "
                "replace"
            )
    overwrite = _Overwrite(
        plan=plan, added=added, keys=keys, change=opened.change, replaced=replaced
    )

    replaced_up_to = (plan.change_sequence_number or 0) if plan.must_be_newest_change else None
    stage = replacing(overwrite.stage, opened.change, replaced_up_to=replaced_up_to)
    return commit_snapshot(opened.base, stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overwrite:
    plan: OverwriteBase
    added: tuple[DataFile, ...]
    keys: PartitionKeys | None
    """None: the table has no change store, hence no optimized sequence."""
    change: Table | None
    replaced: PartitionFilter | None
    """Of the partitions that are replaced; None: the plan says which by itself."""

    def stage(self, head: Table, snapshot_id: int) -> StagedSnapshot | None:
        """Build one attempt on a fresh head; None when it would change nothing."""
        new = frozenset(file.partition for file in self.plan.files)
        check_unchanged(
            head,
            self.plan.planned_at,
            concerns=lambda partition: self._replaces(partition, new),
            keys=self.keys,
        )
        live = live_files(head)
        removed = frozenset(
            path for path, partition in live.items() if self._replaces(partition, new)
        )
        moves = self.plan.batch is not None and self.plan.batch.moves
        adds = bool(self.added) or (self.keys is None and not removed)
        what = SnapshotPlan(
            operation=operation(adds, bool(removed)),
            added=self.added,
            removed_paths=removed,
        )
        what = with_notes(
            head, what, batch=self.plan.batch, watermark=self.plan.watermark, other=self.change
        )
        if self.keys is None:
            changes = self.added or removed or moves
            return staged_on(head, what, snapshot_id) if changes else None
        before = read_state(head.metadata, head.io, head.metadata.current_snapshot_id, self.keys)
        state = self._advanced(before, new, live)
        if not (self.added or removed or moves) and state.sequence == before.sequence:
            return None
        if not state.sequence:
            return staged_on(head, what, snapshot_id)
        return staged_with_state(head, what, snapshot_id, state=state, keys=self.keys)

    def _replaces(self, partition: Partition, new: frozenset[Partition]) -> bool:
        if self.replaced is not None:
            return self.replaced.matches(partition)
        return not self.plan.dynamic or partition in new

    def _advanced(
        self, before: OptimizedState, new: frozenset[Partition], live: Mapping[str, Partition]
    ) -> OptimizedState:
        replaced_up_to = self.plan.change_sequence_number or 0
        known = new.union(live.values(), before.sequence, self.plan.change_partitions)
        covered = frozenset(each for each in known if self._replaces(each, new))
        ahead = [each for each in covered if before.sequence.get(each, 0) > replaced_up_to]
        if ahead:
            raise ConflictError(
                f"changes up to sequence number {before.sequence[ahead[0]]} were merged while rows "
                f"to replace those up to {replaced_up_to} were written; run the overwrite again"
            )
        if not replaced_up_to:
            return before
        return before.advanced(covered, replaced_up_to, time.time_ns() // 1_000_000)


def _check_snapshot(head: Table, expected: int | None) -> None:
    snapshot = head.current_snapshot()
    actual = None if snapshot is None else snapshot.snapshot_id
    if actual != expected:
        raise ConflictError(
            f"table {'.'.join(head.name())!r} is at snapshot {actual}, but this commit was "
            f"prepared for {expected}; look at the table again and prepare it anew"
        )
