"""The live files of manifests as planning sees them, a few at a time.

Planning reads entries once and keeps a dozen values of each; ``manifest_cache`` says why commits
have others.

Rules:
    - PyIceberg resolves the schema of a manifest; only the walk over its readers is our own.
    - A manifest that is not what its manifest list says is refused: it could lose files.
    - Only so many manifests are held at once, however many there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.utils.concurrent import ExecutorFactory

from arctic.iceberg.metadata import manifest_cache
from arctic.iceberg.metadata.manifest_decoder import ListedFile, decode_manifest
from arctic.iceberg.metadata.manifest_files import read_manifest
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.translate import catalog_errors

_FILE_BYTES = 2_000
"""About, of one with metrics of 8 columns."""

_READ_AHEAD = 32
"""Manifests that are fetched before they are decoded."""


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
    keeps = sum(map(_live_count, manifests)) * _FILE_BYTES <= manifest_cache.MAX_CACHED_BYTES
    with catalog_errors("read manifests"):
        for manifest in manifests:
            is_known = manifest_cache.CACHE.get(ListedFile, manifest.manifest_path) is not None
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
    files = manifest_cache.CACHE.get(ListedFile, manifest.manifest_path)
    if files is None:
        # What was known when its turn was planned may have left the cache by now.
        content = fetched.result() if fetched is not None else read_manifest(io, manifest)
        files = decode_manifest(content, manifest)
        if keeps:
            manifest_cache.CACHE.put(
                ListedFile, manifest.manifest_path, files, entry_bytes=_FILE_BYTES
            )
    return manifest, files


def _live_count(manifest: ManifestFile) -> int:
    """Return how many live files a manifest has, as far as its list says it."""
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
