"""Parts of an attempt to commit to a store, the same for every kind of commit."""

from __future__ import annotations

from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from arctic.iceberg.catalogs.staged_metadata import no_earlier
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan, StagedSnapshot
from arctic.iceberg.commits.snapshot_producer import stage_snapshot
from arctic.iceberg.metadata.entries import entries_of, live_manifests, partition_of
from arctic.iceberg.metadata.gc_pause import collector_paused
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.metadata.sequence_file import stage_state
from arctic.iceberg.snapshots.list_files import check_specs
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.partition_key import PartitionKeys
from arctic.table.files import Partition

_COPIED_PROPERTY_BYTES = 250_000
"""Glue and DynamoDB keep a copy of every table property: Glue takes 512,000 bytes of one, DynamoDB
400 KiB of a table. So does Hive, which says itself what it takes."""


def live_files(head: Table) -> dict[str, Partition]:
    """Return the partition of every live data and delete file by path; see ``live_files_of``."""
    return live_files_of(head, head.current_snapshot())


def live_files_of(head: Table, snapshot: Snapshot | None) -> dict[str, Partition]:
    """Return the same of any snapshot of a store; none without one.

    Raises:
        UnsupportedError: files of another partition spec.
        StorageError: a manifest cannot be read.
    """
    manifests = live_manifests(head, snapshot)
    check_specs(head, manifests)
    width = len(head.spec().fields)
    with collector_paused():
        return {
            entry.data_file.file_path: partition_of(entry.data_file.partition, width)
            for _, entries in entries_of(head.io, manifests)
            for entry in entries
        }


def operation(adds: bool, removes: bool) -> Operation:
    """Return what Iceberg calls a commit that adds or removes rows."""
    if adds and not removes:
        return Operation.APPEND
    if removes and not adds:
        return Operation.DELETE
    return Operation.OVERWRITE


def staged_on(head: Table, what: SnapshotPlan, snapshot_id: int) -> StagedSnapshot:
    """Write the manifests of an attempt; raises as ``stage_snapshot`` does."""
    with catalog_errors(f"write the manifests of a commit to {'.'.join(head.name())!r}"):
        return stage_snapshot(head, what, snapshot_id)


def dated_beside(staged: StagedSnapshot, other: Table | None, *, replaces: bool) -> StagedSnapshot:
    """Return an attempt that is not earlier than what it has seen of the other store.

    Whoever looks into the past pairs the stores by time, and the clocks of their writers differ.

    Args:
        staged: of one store.
        other: the other one, as it was looked at; None: there is none.
        replaces: whether rows of base are replaced, also those that changes have brought: that is
            later than the newest of these, for what is at the same time would lie on it.
    """
    seen = None if other is None else other.current_snapshot()
    if seen is None:
        return staged
    least_ms = seen.timestamp_ms + (1 if replaces else 0)
    return replace(staged, updates=tuple(no_earlier(staged.updates, least_ms)))


def staged_with_state(
    head: Table,
    what: SnapshotPlan,
    snapshot_id: int,
    *,
    state: OptimizedState,
    keys: PartitionKeys,
) -> StagedSnapshot:
    """Write the manifests of an attempt, and the optimized sequence that is committed with them.

    Args:
        head: the base store.
        what: what the snapshot does beside that.
        snapshot_id: of the snapshot.
        state: complete, and not empty.
        keys: how partitions of the table are written.
    """
    marks = stage_state(
        state,
        io=head.io,
        location=head.location(),
        snapshot_id=snapshot_id,
        sequence_number=head.metadata.next_sequence_number(),
        keys=keys,
        property_bytes=longest_property(head.catalog),
    )
    marked = replace(
        what,
        summary={**what.summary, **marks.summary},
        statistics=marks.statistics,
        properties={**what.properties, **marks.properties},
    )
    return staged_on(head, marked, snapshot_id)


def longest_property(catalog: Catalog) -> int | None:
    """Return how many bytes of a property a catalog takes; None: any number."""
    if isinstance(catalog, SqlCatalog | RestCatalog):
        return None
    return int(getattr(catalog, "property_bytes", _COPIED_PROPERTY_BYTES))
