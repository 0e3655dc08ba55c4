"""Live files of manifests, decoded once per process, in either of two forms; and where they stand.

A manifest never changes, so what was read from its path stays true; the memory is bounded by the
weight of what is kept.

Two decoders read the same bytes for two uses. ``manifest_decoder`` keeps a dozen values of each
file, and is what planning of very many files affords. ``manifest_files`` makes PyIceberg's own
entries, because a commit that replaces files writes the other entries of their manifests again,
and must write every field of them as it was: a file's column sizes, value counts, NaN counts,
split offsets and encryption keys, which a view of the first would have dropped.

Rules:
    - A manifest that is not what its manifest list says is refused: it could lose files.
    - Only so many manifests are held at once, however many there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record
from pyiceberg.utils.concurrent import ExecutorFactory

from arctic.errors import NotFoundError
from arctic.iceberg.metadata.manifest_decoder import ListedFile, decode_manifest
from arctic.iceberg.metadata.manifest_files import (
    manifest_entries,
    manifests_of,
    read_manifest,
    removed_entries,
)
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.translate import catalog_errors
from arctic.last_used import LastUsed
from arctic.table.files import Partition

CACHE: LastUsed[tuple[type, str], tuple[Any, ...]] = LastUsed()
"""The form and the path of a manifest -> its live files; of all tables together."""

MAX_CACHED_BYTES = 140_000_000
ENTRY_BYTES = {ManifestEntry: 5_000, ListedFile: 2_000}
"""What a file weighs in each form, about: with metrics of 12 columns, or of 8."""

_READ_AHEAD = 32
"""Manifests that are fetched before they are decoded."""


def live_entries(io: FileIO, manifest: ManifestFile) -> tuple[ManifestEntry, ...]:
    """Return the entries of a manifest that are not deleted, sequence numbers inherited.

    The entries are shared: nobody may change them.
    """
    entries = CACHE.get((ManifestEntry, manifest.manifest_path))
    if entries is None:
        entries = manifest_entries(io, manifest)
        _keep(ManifestEntry, manifest, entries)
    return entries


def _keep(form: type, manifest: ManifestFile, files: tuple[Any, ...]) -> None:
    """Keep the live files of a manifest, unless they alone are too heavy."""
    weight = len(files) * ENTRY_BYTES[form]
    CACHE.put((form, manifest.manifest_path), files, weight=weight, most=MAX_CACHED_BYTES)


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


def listed_files(
    io: FileIO, manifests: Sequence[ManifestFile]
) -> Iterator[tuple[ManifestFile, tuple[ListedFile, ...]]]:
    """Yield each manifest with its live files, in order; manifests are fetched in parallel.

    Each manifest is decoded once per process, as long as the cache holds it. What the cache could
    not hold together does not enter it: the end would only drive out the beginning, and what is
    known of other tables. The files are shared: nobody may change what they refer to.

    Raises:
        FormatError: a manifest that cannot be decoded.
        StorageError: a manifest cannot be read.
    """
    pending: deque[tuple[ManifestFile, Future[bytes] | None]] = deque()
    keeps = sum(map(live_count, manifests)) * ENTRY_BYTES[ListedFile] <= MAX_CACHED_BYTES
    with catalog_errors("read manifests"):
        for manifest in manifests:
            is_known = CACHE.get((ListedFile, manifest.manifest_path)) is not None
            fetched = None if is_known else _fetched(io, manifest)
            pending.append((manifest, fetched))
            if len(pending) > _READ_AHEAD:
                yield _decoded(io, *pending.popleft(), keeps=keeps)
        while pending:
            yield _decoded(io, *pending.popleft(), keeps=keeps)


def _fetched(io: FileIO, manifest: ManifestFile) -> Future[bytes]:
    is_near = is_local(manifest.manifest_path)
    executor = ExecutorFactory.get_or_create() if is_near else far_threads()
    return executor.submit(read_manifest, io, manifest)


def _decoded(
    io: FileIO, manifest: ManifestFile, fetched: Future[bytes] | None, *, keeps: bool
) -> tuple[ManifestFile, tuple[ListedFile, ...]]:
    files = CACHE.get((ListedFile, manifest.manifest_path))
    if files is None:
        # What was known when its turn was planned may have left the cache by now.
        content = fetched.result() if fetched is not None else read_manifest(io, manifest)
        files = decode_manifest(content, manifest)
        if keeps:
            _keep(ListedFile, manifest, files)
    return manifest, files


def removed_of(
    io: FileIO, manifests: Iterable[ManifestFile], snapshot_id: int
) -> Iterator[ManifestEntry]:
    """Yield the entries of files that a snapshot removed; they are read anew each time.

    Args:
        io: of its store.
        manifests: of the snapshot.
        snapshot_id: of the snapshot.

    Raises:
        FormatError: a manifest that cannot be decoded.
        StorageError: a manifest cannot be read.
    """
    with catalog_errors("read manifests"):
        for manifest in manifests:
            if manifest.added_snapshot_id == snapshot_id and manifest.deleted_files_count != 0:
                yield from removed_entries(io, manifest)


def first_path(io: FileIO, manifest: ManifestFile) -> str:
    """Return what a message names where all of a manifest is meant: a file of it, if it has one."""
    for _, files in listed_files(io, [manifest]):
        for file in files:
            return file.path
    return manifest.manifest_path


def partition_of(record: Record, width: int) -> Partition:
    """Return the partition of a manifest entry as a plain tuple."""
    return tuple([record[position] for position in range(width)])


def live_count(manifest: ManifestFile) -> int:
    """Return how many live files a manifest has, as far as its list says it."""
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


def live_manifests(table: Table, snapshot: Snapshot | None) -> tuple[ManifestFile, ...]:
    """Return the manifests of a snapshot that hold live files; see ``all_manifests``."""
    return tuple(
        manifest
        for manifest in all_manifests(table, snapshot)
        if manifest.has_added_files() or manifest.has_existing_files()
    )


def all_manifests(table: Table, snapshot: Snapshot | None) -> tuple[ManifestFile, ...]:
    """Return the manifests that a snapshot lists, in order; none without one.

    Raises:
        FormatError: the manifest list cannot be decoded.
        StorageError: the manifest list cannot be read.
    """
    if snapshot is None:
        return ()
    with catalog_errors(f"read snapshot {snapshot.snapshot_id} of {'.'.join(table.name())!r}"):
        return manifests_of(table.io, snapshot)


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
