"""PyIceberg's entries of manifests, which commits write again; see ``manifest_cache``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import wait

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.concurrent import ExecutorFactory

from arctic.errors import NotFoundError
from arctic.iceberg.metadata import manifest_cache
from arctic.iceberg.metadata.manifest_files import manifest_entries, manifests_of
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.translate import catalog_errors

_ENTRY_BYTES = 5_000
"""About, of one with metrics of 12 columns."""


def live_entries(io: FileIO, manifest: ManifestFile) -> tuple[ManifestEntry, ...]:
    """Return the entries of a manifest that are not deleted, sequence numbers inherited.

    The entries are shared: nobody may change them.
    """
    entries = manifest_cache.CACHE.get(ManifestEntry, manifest.manifest_path)
    if entries is None:
        entries = manifest_entries(io, manifest)
        manifest_cache.CACHE.put(
            ManifestEntry, manifest.manifest_path, entries, entry_bytes=_ENTRY_BYTES
        )
    return entries


def entries_of(
    io: FileIO, manifests: Iterable[ManifestFile]
) -> Iterator[tuple[ManifestFile, tuple[ManifestEntry, ...]]]:
    """Yield each manifest with its live entries, in order; files are fetched in parallel.

    Raises:
        FormatError: a manifest that cannot be decoded.
        StorageError: a manifest cannot be read.
    """
    listed = list(manifests)
    with catalog_errors("read manifests"):
        executor = ExecutorFactory.get_or_create()
        yield from zip(
            listed, executor.map(lambda each: live_entries(io, each), listed), strict=True
        )


def live_manifests(table: Table, snapshot: Snapshot | None) -> tuple[ManifestFile, ...]:
    """Return the manifests of a snapshot that hold live files, in order; none without one.

    Raises:
        FormatError: the manifest list cannot be decoded.
        StorageError: the manifest list cannot be read.
    """
    if snapshot is None:
        return ()
    with catalog_errors(f"read snapshot {snapshot.snapshot_id} of {'.'.join(table.name())!r}"):
        return tuple(
            manifest
            for manifest in manifests_of(table.io, snapshot)
            if manifest.has_added_files() or manifest.has_existing_files()
        )


def fetch_lists(*states: tuple[Table | None, int | None]) -> None:
    """Read the manifest lists of several stores side by side, where each of them takes a while.

    They are kept, see ``kept_metadata``; whatever fails does so again for whoever needs the list.
    """
    fetched = []
    for table, snapshot_id in states:
        if table is None or is_local(table.location()):
            continue
        snapshot = snapshot_of(table, snapshot_id)
        if snapshot is not None:
            fetched.append(far_threads().submit(manifests_of, table.io, snapshot))
    wait(fetched)


def snapshot_of(table: Table, snapshot_id: int | None) -> Snapshot | None:
    """Return a snapshot that was pinned before.

    Raises:
        NotFoundError: it has expired since.
    """
    if snapshot_id is None:
        return None
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        raise NotFoundError(
            f"snapshot {snapshot_id} of {'.'.join(table.name())!r} has expired; read a newer one"
        )
    return snapshot


def is_delete_manifest(manifest: ManifestFile) -> bool:
    """Say whether a manifest lists delete files."""
    return bool(manifest.content == ManifestContent.DELETES)
