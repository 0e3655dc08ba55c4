"""The live files of manifests as planning sees them, a few at a time.

PyIceberg's entries say everything about a file and take longer to make. Commits need
them, because they write entries again; planning reads them once and keeps a dozen values of each.

Rules:
    - PyIceberg resolves the schema of a manifest; only the walk over its readers is our own.
    - A manifest that is not what its manifest list says is refused: it could lose files.
    - Only so many manifests are held at once, however many there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.utils.concurrent import ExecutorFactory

from arctic.iceberg.entries import EntryCache
from arctic.iceberg.manifest_decoder import ListedFile, decode_manifest
from arctic.iceberg.manifest_files import read_manifest
from arctic.iceberg.translate import catalog_errors

MAX_CACHED_FILES = 20_000
"""Of all tables together; a file with metrics of 8 columns takes about 2 kB."""

_READ_AHEAD = 32
"""Manifests that are fetched before they are decoded."""

_CACHE: EntryCache[ListedFile] = EntryCache(MAX_CACHED_FILES)


def listed_files(
    io: FileIO, manifests: Iterable[ManifestFile]
) -> Iterator[tuple[ManifestFile, tuple[ListedFile, ...]]]:
    """Yield each manifest with its live files, in order; manifests are fetched in parallel.

    Each manifest is decoded once per process, as long as the cache holds it. The files are
    shared: nobody may change what they refer to.

    Raises:
        FormatError: a manifest that cannot be decoded.
        StorageError: a manifest cannot be read.
    """
    executor = ExecutorFactory.get_or_create()
    pending: deque[tuple[ManifestFile, Future[bytes] | None]] = deque()
    with catalog_errors("read manifests"):
        for manifest in manifests:
            is_known = _CACHE.get(manifest.manifest_path) is not None
            fetched = None if is_known else executor.submit(read_manifest, io, manifest)
            pending.append((manifest, fetched))
            if len(pending) > _READ_AHEAD:
                yield _decoded(io, *pending.popleft())
        while pending:
            yield _decoded(io, *pending.popleft())


def _decoded(
    io: FileIO, manifest: ManifestFile, fetched: Future[bytes] | None
) -> tuple[ManifestFile, tuple[ListedFile, ...]]:
    files = _CACHE.get(manifest.manifest_path)
    if files is None:
        # What was known when its turn was planned may have left the cache by now.
        content = fetched.result() if fetched is not None else read_manifest(io, manifest)
        files = decode_manifest(content, manifest)
        _CACHE.put(manifest.manifest_path, files)
    return manifest, files
