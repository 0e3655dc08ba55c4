"""Manifest entries, each manifest decoded once per process.

A manifest never changes, so what was read from its path stays true; the memory is bounded by the
number of entries that are kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.concurrent import ExecutorFactory

from arctic.errors import NotFoundError
from arctic.iceberg.manifest_files import manifest_entries, manifests_of
from arctic.iceberg.translate import catalog_errors

MAX_CACHED_ENTRIES = 20_000
"""Of all tables together; an entry with metrics of 12 columns takes about 5 kB."""


_Entry = TypeVar("_Entry")


class EntryCache(Generic[_Entry]):
    """Live entries by manifest path; the manifests that were used last stay."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._by_path: OrderedDict[str, tuple[_Entry, ...]] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def get(self, path: str) -> tuple[_Entry, ...] | None:
        """Return what was kept for a manifest."""
        with self._lock:
            entries = self._by_path.get(path)
            if entries is not None:
                self._by_path.move_to_end(path)
            return entries

    def put(self, path: str, entries: tuple[_Entry, ...]) -> None:
        """Keep the entries of a manifest, unless they alone are too many."""
        with self._lock:
            if path in self._by_path or len(entries) > self._max_entries:
                return
            self._by_path[path] = entries
            self._count += len(entries)
            while self._count > self._max_entries:
                self._count -= len(self._by_path.popitem(last=False)[1])

    @property
    def count(self) -> int:
        """How many entries are kept now."""
        return self._count


_CACHE: EntryCache[ManifestEntry] = EntryCache(MAX_CACHED_ENTRIES)


def live_entries(io: FileIO, manifest: ManifestFile) -> tuple[ManifestEntry, ...]:
    """Return the entries of a manifest that are not deleted, sequence numbers inherited.

    The entries are shared: nobody may change them.
    """
    entries = _CACHE.get(manifest.manifest_path)
    if entries is None:
        entries = manifest_entries(io, manifest)
        _CACHE.put(manifest.manifest_path, entries)
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
