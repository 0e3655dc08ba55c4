"""The files that snapshots and metadata of a store refer to.

Rules:
    - Paths are compared normalised: ``/x``, ``file:/x`` and ``file:///x`` are one file, a folder
      that is a link is the one it points to, and S3 has one scheme.
    - A file counts as referred to if it is live in some snapshot. That it is listed as removed
      does not keep it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from arctic.iceberg.metadata.entries import entries_of
from arctic.iceberg.metadata.manifest_files import manifests_of
from arctic.iceberg.translate import catalog_errors
from arctic.table.expire_report import ExpiredKind
from arctic.table.property_names import OPTIMIZED_SEQUENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedFile:
    """A file that a snapshot refers to."""

    kind: ExpiredKind
    path: str
    size_bytes: int | None


def normalised(path: str) -> str:
    """Return one spelling for all paths that mean the same file.

    >>> normalised("file:/no/such//x") == normalised("file:///no/such/x") == "/no/such/x"
    True
    >>> normalised("s3a://bucket/x")
    's3://bucket/x'
    """
    local = re.sub(r"^file:(//(localhost)?(?=/))?", "", path)
    if local.startswith("/"):
        folder, _, name = local.rpartition("/")
        return f"{_real_folder(folder)}/{name}"
    scheme, separator, rest = local.partition("://")
    scheme = re.sub(r"^s3[an]$", "s3", scheme.lower())
    return f"{scheme}{separator}{re.sub('/+', '/', rest)}"


@lru_cache(maxsize=4_096)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder or "/").rstrip("/")


def reached_files(table: Table, snapshots: Iterable[Snapshot]) -> Iterator[ReachedFile]:
    """Yield the files of snapshots: manifest lists, manifests, live data and delete files.

    A manifest of several snapshots is yielded once, with its files.

    Raises:
        StorageError: a manifest or manifest list cannot be read.
    """
    manifests: dict[str, ManifestFile] = {}
    for snapshot in snapshots:
        yield ReachedFile(
            kind=ExpiredKind.MANIFEST_LIST, path=snapshot.manifest_list, size_bytes=None
        )
        with catalog_errors(f"read snapshot {snapshot.snapshot_id} of {'.'.join(table.name())!r}"):
            manifests.update(
                (each.manifest_path, each) for each in manifests_of(table.io, snapshot)
            )
    for manifest, entries in entries_of(table.io, manifests.values()):
        yield ReachedFile(
            kind=ExpiredKind.MANIFEST,
            path=manifest.manifest_path,
            size_bytes=manifest.manifest_length,
        )
        for entry in entries:
            file = entry.data_file
            yield ReachedFile(
                kind=ExpiredKind.DATA_FILE, path=file.file_path, size_bytes=file.file_size_in_bytes
            )


def referenced_paths(
    table: Table,
    *,
    without: frozenset[int] = frozenset(),
    dropped: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Return every path that a store's metadata refers to, normalised.

    Args:
        table: the store, freshly loaded.
        without: snapshots that are taken to be gone, with their statistics.
        dropped: files that a next snapshot is taken to have removed; it is taken to be there.

    Raises:
        StorageError: a manifest or manifest list cannot be read.
    """
    metadata = table.metadata
    kept = [each for each in metadata.snapshots if each.snapshot_id not in without]
    paths = {file.path for file in reached_files(table, kept)}
    paths.update(_paths_after(table, dropped))
    paths.add(table.metadata_location)
    paths.update(entry.metadata_file for entry in metadata.metadata_log)
    paths.update(
        entry.statistics_path
        for entry in (*metadata.statistics, *metadata.partition_statistics)
        if entry.snapshot_id not in without
    )
    paths.update(
        str(each.summary[OPTIMIZED_SEQUENCE])
        for each in kept
        if each.summary is not None and each.summary[OPTIMIZED_SEQUENCE] is not None
    )
    if OPTIMIZED_SEQUENCE in metadata.properties:
        paths.add(metadata.properties[OPTIMIZED_SEQUENCE])
    return frozenset(normalised(path) for path in paths)


def _paths_after(table: Table, dropped: frozenset[str]) -> Iterator[str]:
    """Yield what a next snapshot would keep of the current one."""
    current = table.current_snapshot()
    if current is None or not dropped:
        return
    for manifest, entries in entries_of(table.io, manifests_of(table.io, current)):
        paths = [entry.data_file.file_path for entry in entries]
        if dropped.isdisjoint(paths):
            yield manifest.manifest_path
        yield from (path for path in paths if path not in dropped)
