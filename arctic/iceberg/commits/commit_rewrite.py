"""Applying what optimizing made: one snapshot of base, or nothing.

Rules:
    - New base files, position deletes, what they stand for and the optimized sequence are one
      metadata commit.
    - A partition must be as it was planned on: the same files and the same optimized sequence.
      Else changes would count as merged that base rows of another writer never saw. Who overwrote
      it wins; the run is planned again.
    - Other partitions may have changed, and so may the change store: it is not looked at.
    - Without a primary key there is no such sequence, so files may have been added; only deletes
      must not have, because they may point to what is replaced.

Source: amoro KeyedTableCommit @96a4d781a. Differs: one snapshot instead of three; obsolete
position deletes go with it; the optimized sequence also advances where nothing else changes; the
whole map is rebuilt on every attempt.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.commit_loop import CommitResult, commit_snapshot
from arctic.iceberg.commits.commit_notes import with_notes
from arctic.iceberg.commits.staging import live_files, operation, staged_on, staged_with_state
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.metadata.entries import (
    entries_of,
    is_delete_manifest,
    live_manifests,
    partition_of,
)
from arctic.iceberg.metadata.history import OPTIMIZE, PRODUCER
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.iceberg.values.partition_times import PartitionTimes
from arctic.table.commit_plan import RewriteBase
from arctic.table.files import FileKind, Partition
from arctic.table.node_trees import NodeTrees
from arctic.table.property_names import PARTITION_TIMES, SIZING, TREES
from arctic.table.table_sizing import TableSizing


def commit_rewrite(opened: OpenTable, plan: RewriteBase) -> CommitResult | None:
    """Replace base files by what optimizing made of them.

    Returns:
        The snapshot; None when nothing is added, removed or marked as merged.

    Raises:
        ConflictError: a partition is not as it was planned on, or other writers won every retry;
            the files were not committed.
        CommitStateUnknownError: the files may have been committed.
        StorageError: the catalog or a file cannot be reached; the files were not committed.
    """
    rewrite = _Rewrite(
        plan=plan,
        added=data_files(
            plan.files,
            opened.table,
            spec_id=opened.base.spec().spec_id,
            kinds=(FileKind.BASE, FileKind.POS_DELETE),
        ),
        keys=partition_keys(opened.table) if opened.table.is_keyed else None,
        change=opened.change,
    )
    return commit_snapshot(newest(opened.base), rewrite.stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rewrite:
    plan: RewriteBase
    added: tuple[DataFile, ...]
    keys: PartitionKeys | None
    """None: the table has no change store, hence no optimized sequence."""
    change: Table | None

    def stage(self, head: Table, snapshot_id: int) -> StagedSnapshot | None:
        """Build one attempt on a fresh head; None when it would change nothing."""
        plan, now_ms = self.plan, time.time_ns() // 1_000_000
        what = SnapshotPlan(
            operation=self._operation(),
            added=self.added,
            removed_paths=plan.removed_paths,
            summary={**plan.summary, PRODUCER: OPTIMIZE},
        )
        what = with_notes(head, what, merged_ms=plan.merged_ms, other=self.change)
        moves = any(each.merged_up_to != each.found_sequence for each in plan.partitions)
        if not (self.added or plan.removed_paths or moves):
            return None
        sizing = TableSizing.of(head.properties).after(
            run_ms=plan.run_ms, base_bytes=plan.base_bytes
        )
        what = replace(what, properties={**what.properties, SIZING: sizing.text()})
        has_moved_on = head.metadata.current_snapshot_id != plan.planned_at
        if self.keys is None:
            if has_moved_on:
                self._check_deletes(head)
            properties = {**what.properties, PARTITION_TIMES: self._times(head, now_ms)}
            return staged_on(head, replace(what, properties=properties), snapshot_id)
        before = read_state(head.metadata, head.io, head.metadata.current_snapshot_id, self.keys)
        if has_moved_on:
            self._check_files(head)
        self._check_sequence(head, before)
        state = before.rewritten(
            {each.partition: each.merged_up_to for each in plan.partitions}, self._full(), now_ms
        )
        what = replace(what, properties={**what.properties, **self._trees(head)})
        return staged_with_state(head, what, snapshot_id, state=state, keys=self.keys)

    def _trees(self, head: Table) -> dict[str, str | None]:
        """Return what the table remembers of its nodes, where this changes it."""
        before = NodeTrees.of(head.properties, is_keyed=True)
        if not before.grow:
            return {}
        after = before.changed({each.path: each.tree for each in self.plan.partitions})
        return {TREES: after.text()} if after != before else {}

    def _full(self) -> list[Partition]:
        return [each.partition for each in self.plan.partitions if each.is_full]

    def _times(self, head: Table, now_ms: int) -> str:
        """Return what a table without a primary key remembers of its runs."""
        before = PartitionTimes.of(head.properties, table_name=".".join(head.name()))
        partitions = [each.partition for each in self.plan.partitions]
        return before.rewritten(partitions, self._full(), now_ms).text()

    def _operation(self) -> Operation:
        if not self.plan.changes_rows:
            return Operation.REPLACE
        deletes = any(file.kind is FileKind.POS_DELETE for file in self.plan.files)
        adds = any(file.kind is FileKind.BASE for file in self.plan.files)
        return operation(adds, deletes or bool(self.plan.removed_paths))

    def _check_files(self, head: Table) -> None:
        found: dict[Partition, set[str]] = defaultdict(set)
        for path, partition in live_files(head).items():
            found[partition].add(path)
        for each in self.plan.partitions:
            if found.get(each.partition, set()) != each.found_paths:
                raise _conflict(head, f"partition {each.partition!r} was rewritten by others")

    def _check_sequence(self, head: Table, before: OptimizedState) -> None:
        for each in self.plan.partitions:
            sequence = before.sequence.get(each.partition, 0)
            if sequence != each.found_sequence:
                raise _conflict(
                    head,
                    f"changes of partition {each.partition!r} are merged up to {sequence}, not "
                    f"{each.found_sequence}",
                )

    def _check_deletes(self, head: Table) -> None:
        known = frozenset[str]().union(*(each.found_paths for each in self.plan.partitions))
        ours = {each.partition for each in self.plan.partitions}
        manifests = [
            each
            for each in live_manifests(head, head.current_snapshot())
            if is_delete_manifest(each)
        ]
        width = len(head.spec().fields)
        for _, entries in entries_of(head.io, manifests):
            for entry in entries:
                file = entry.data_file
                partition = partition_of(file.partition, width)
                if file.file_path not in known and partition in ours:
                    raise _conflict(head, f"rows of partition {partition!r} were deleted by others")


def _conflict(head: Table, what: str) -> ConflictError:
    return ConflictError(
        f"table {'.'.join(head.name())!r}: {what} since optimizing was planned; plan it again"
    )
