"""Taking files out of the newest snapshot: merged changes, and deletes that delete nothing.

Rules:
    - Each is planned anew on every attempt, on a fresh head; what is merged is read from the base
      store as it is committed then.
    - The files themselves stay: older snapshots still hold them.

Source: amoro MixedTableMaintainer, IcebergTableMaintainer.cleanDanglingDeleteFiles @96a4d781a.
Differs: change files go by sequence number, and in one commit; dangling deletes are removed from
keyed tables too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFileContent, ManifestEntry
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from arctic.errors import UnsupportedError
from arctic.iceberg.catalogs.refresh import newest, refresh
from arctic.iceberg.cleaning.expire_snapshots import base_snapshots_to_read
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.commit_notes import with_notes
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.entries import (
    entries_of,
    is_delete_manifest,
    live_manifests,
    partition_of,
)
from arctic.iceberg.metadata.history import (
    CLEAN_DANGLING_DELETE,
    DATA_EXPIRATION,
    PRODUCER,
    lineage,
)
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.list_files import check_specs, list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.scan.choose.plan_files import PositionDeleteIndex
from arctic.table.expire_report import ExpiredItem, ExpiredKind
from arctic.table.expiry import ChangeFile, duration_text, expired_changes
from arctic.table.filename import parse_change_name
from arctic.table.files import FileKind, Partition
from arctic.table.snapshot import NOTHING_MERGED, TableSnapshot

Items = tuple[ExpiredItem, ...]


def expire_changes(
    opened: OpenTable, *, ttl_ms: int, keep_ms: int, now_ms: int, dry_run: bool
) -> Items:
    """Remove merged change files from the newest snapshot of the change store.

    Args:
        opened: the table; one without a key has nothing to remove.
        ttl_ms: how long a change file stays after its commit.
        keep_ms: how long base snapshots stay. What one of them has not merged stays as well: the
            base store may be rolled back to it.
        now_ms: milliseconds since 1970-01-01 UTC.
        dry_run: only say which.

    Raises:
        ConflictError: other writers won every retry; nothing was removed.
        CommitStateUnknownError: the files may have been removed, which loses nothing.
        FormatError: what is merged is not readable.
        StorageError: the catalog or a file cannot be reached; nothing was removed.
    """
    if opened.change is None:
        return ()

    def plan(head: Table) -> Items:
        merged = _merged_everywhere(opened, keep_ms=keep_ms, now_ms=now_ms)
        expired = expired_changes(
            _change_files(head),
            merged=merged,
            ttl_ms=ttl_ms,
            now_ms=now_ms,
            is_ordered=bool(opened.table.ordering_columns),
        )
        return tuple(
            ExpiredItem(
                store="change",
                kind=ExpiredKind.CHANGE_FILE,
                name=file.path,
                size_bytes=file.size_bytes,
                reason=f"merged (sequence {file.sequence_number} <= "
                f"{merged.get(file.partition, NOTHING_MERGED)}) and older than "
                f"{duration_text(ttl_ms)}",
            )
            for file in expired
        )

    return _remove(opened.change, plan, Operation.DELETE, producer=DATA_EXPIRATION, dry_run=dry_run)


def expire_dangling_deletes(opened: OpenTable, *, dry_run: bool) -> Items:
    """Remove position deletes that apply to no data file from the newest base snapshot.

    Args:
        opened: the table.
        dry_run: only say which.

    Raises:
        UnsupportedError: content that this version would read wrongly.
        ConflictError: other writers won every retry; nothing was removed.
        CommitStateUnknownError: the files may have been removed, which loses nothing.
        StorageError: the catalog or a file cannot be reached; nothing was removed.
    """

    def plan(head: Table) -> Items:
        if not any(map(is_delete_manifest, live_manifests(head, head.current_snapshot()))):
            return ()  # so most runs read no manifest for it
        listed = list_files(
            replace(opened, base=head, change=None),
            TableSnapshot(
                base_snapshot_id=head.metadata.current_snapshot_id,
                change_snapshot_id=None,
                change_sequence_number=0,
            ),
            field_ids=(),
            row_filter=None,
        )
        index = PositionDeleteIndex(listed.position_deletes)
        used = {delete.path for file in listed.base for delete in index.applying_to(file)}
        return tuple(
            ExpiredItem(
                store="base",
                kind=ExpiredKind.POSITION_DELETES,
                name=delete.path,
                size_bytes=delete.size_bytes,
                reason="no data file is left that they apply to",
            )
            for delete in sorted(listed.position_deletes, key=lambda delete: delete.path)
            if delete.path not in used
        )

    return _remove(
        opened.base, plan, Operation.REPLACE, producer=CLEAN_DANGLING_DELETE, dry_run=dry_run
    )


def _remove(
    store: Table,
    plan: Callable[[Table], Items],
    operation: Operation,
    *,
    producer: str,
    dry_run: bool,
) -> Items:
    """Remove what a plan says of the head, in one snapshot; return it as it was committed."""
    if dry_run:
        return plan(newest(store))
    removed: Items = ()

    def stage(head: Table, snapshot_id: int) -> StagedSnapshot | None:
        nonlocal removed
        removed = plan(head)
        if not removed:
            return None
        what = SnapshotPlan(
            operation=operation,
            removed_paths=frozenset(item.name for item in removed),
            summary={PRODUCER: producer},
        )
        return staged_on(head, with_notes(head, what), snapshot_id)

    commit_snapshot(newest(store), stage)
    return removed


def _merged_everywhere(opened: OpenTable, *, keep_ms: int, now_ms: int) -> Mapping[Partition, int]:
    """Return what is merged in the current base snapshot and in every other one that stays."""
    base = refresh(opened.base)
    keys = partition_keys(opened.table)
    current_id = base.metadata.current_snapshot_id
    merged = read_state(base.metadata, base.io, current_id, keys).sequence
    others = base_snapshots_to_read(base, keep_ms=keep_ms, now_ms=now_ms) - {current_id}
    # What is merged only grows along a lineage, so the oldest of it tells for all of them.
    ancestors = lineage(base.metadata, base.current_snapshot())
    own = [each.snapshot_id for each in ancestors if each.snapshot_id in others]
    for snapshot_id in {*own[-1:], *others.difference(own)}:
        with suppress(UnsupportedError):  # nobody can read that snapshot any more
            then = read_state(base.metadata, base.io, snapshot_id, keys).sequence
            merged = {
                partition: min(sequence, then.get(partition, NOTHING_MERGED))
                for partition, sequence in merged.items()
            }
    return merged


def _change_files(head: Table) -> Iterable[ChangeFile]:
    manifests = live_manifests(head, head.current_snapshot())
    check_specs(head, manifests)
    width = len(head.spec().fields)
    times = _Times.of(head)
    for _, entries in entries_of(head.io, manifests):
        for entry in entries:
            file = _change_file(times, entry, partition_of(entry.data_file.partition, width))
            if file is not None:
                yield file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """When the snapshots that a store knows were committed, in ms."""

    of_ids: Mapping[int, int]
    numbers: Sequence[int]
    """Their sequence numbers, ascending."""
    of_numbers: Sequence[int]

    @classmethod
    def of(cls, store: Table) -> _Times:
        found = store.metadata.snapshots
        by_number = sorted((each.sequence_number or 0, each.timestamp_ms) for each in found)
        return cls(
            of_ids={each.snapshot_id: each.timestamp_ms for each in found},
            numbers=[number for number, _ in by_number],
            of_numbers=[time_ms for _, time_ms in by_number],
        )

    def since(self, sequence_number: int) -> int:
        """Return the time of the first snapshot of this number or a later one; the last has it."""
        place = bisect_left(self.numbers, sequence_number)
        return self.of_numbers[min(place, len(self.of_numbers) - 1)]


def _change_file(times: _Times, entry: ManifestEntry, partition: Partition) -> ChangeFile | None:
    is_data = entry.data_file.content == DataFileContent.DATA
    if not is_data or entry.sequence_number is None or entry.snapshot_id is None:
        return None  # not understood: it stays
    added_ms = times.of_ids.get(entry.snapshot_id)
    return ChangeFile(
        path=entry.data_file.file_path,
        partition=partition,
        sequence_number=entry.sequence_number,
        size_bytes=entry.data_file.file_size_in_bytes,
        added_ms=added_ms,
        seen_ms=times.since(entry.sequence_number) if added_ms is None else added_ms,
        is_delete=parse_change_name(entry.data_file.file_path).kind is FileKind.CHANGE_DELETE,
    )
