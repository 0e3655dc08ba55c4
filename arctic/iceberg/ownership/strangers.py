"""Metadata files in a store's own folder that are not of its history.

They betray a table that no look into one catalog finds: an earlier or later owner of the folder,
or the same metadata registered in another catalog, where commits go on.

Rules:
    - What the log of the newest metadata names is its history, and so is what the logs of those
      files name, as far back as they are there.
    - A file that nobody can read, or whose newest snapshot is gone, is nobody's table.
    - A commit of this table through this catalog that is not in its history died.
    - Of files that follow one another, the newest speaks for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table

from arctic.iceberg.ownership.known_tables import paths_of
from arctic.iceberg.ownership.reachable import normalised
from arctic.iceberg.storage.metadata_document import METADATA_FILE, metadata_document
from arctic.iceberg.storage.signed_names import is_signed
from arctic.iceberg.storage.table_io import FoundFile, TableIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A metadata file of somebody else, as far as anybody can tell."""

    path: str
    is_same: bool
    """It has the store's own UUID."""

    @property
    def reason(self) -> str:
        """What it says about the folder."""
        if self.is_same:
            return (
                f"{self.path!r} is not in this table's history: another catalog may have the table "
                "too, or a commit of another program died"
            )
        return f"{self.path!r} is of another table, perhaps of another catalog"


def strangers(store: Table, listed: Iterable[FoundFile]) -> tuple[Stranger, ...]:
    """Return the metadata files of others among those of a store.

    Args:
        store: loaded after the listing.
        listed: the files in its folders.

    Raises:
        StorageError: a metadata file cannot be read.
    """
    names = {normalised(file.path): file.path for file in listed}
    beside = normalised(f"{store.location()}/metadata/")
    metadata = {
        name
        for name in names
        if name.endswith(METADATA_FILE) and name.rpartition("/")[0] + "/" == beside
    }
    times = {normalised(store.metadata_location): store.metadata.last_updated_ms}
    times |= {
        normalised(entry.metadata_file): entry.timestamp_ms for entry in store.metadata.metadata_log
    }
    if metadata <= times.keys():
        return ()
    io = TableIO.of(store)
    _follow_logs(io, times, metadata)
    found = {
        name: document
        for name in sorted(metadata - times.keys())
        if (document := metadata_document(io, names[name])) is not None
        and not _lost_its_snapshot(document, names, beside)
    }
    uuid = str(store.metadata.table_uuid)
    older = {path for document in found.values() for path, _ in _log(document)}
    return tuple(
        Stranger(path=names[name], is_same=is_same)
        for name, document in found.items()
        if name not in older
        for is_same in (str(document.get("table-uuid")) == uuid,)
        if not (is_same and is_signed(names[name], store.catalog))
    )


def reached_by(store: Table, others: Iterable[Stranger]) -> frozenset[str]:
    """Return what the metadata of others refers to, itself included, normalised.

    Raises:
        StorageError: what it refers to cannot be read.
        FormatError: it cannot be parsed.
    """
    return frozenset[str]().union(
        *(paths_of(store.catalog, other.path, name=other.path) for other in others)
    )


def _follow_logs(io: TableIO, times: dict[str, int], present: Collection[str]) -> None:
    """Add what the logs of older metadata files name, while those are there."""
    while True:
        oldest = min(times, key=lambda name: (times[name], name))
        document = metadata_document(io, oldest) if oldest in present else None
        older = {path: at for path, at in _log(document or {}) if path not in times}
        if not older:
            return
        times |= older


def _log(document: Mapping[str, Any]) -> list[tuple[str, int]]:
    entries = document.get("metadata-log") or []
    return [(normalised(str(each["metadata-file"])), int(each["timestamp-ms"])) for each in entries]


def _lost_its_snapshot(document: Mapping[str, Any], present: Collection[str], beside: str) -> bool:
    """Say whether nobody can read the newest snapshot any more."""
    current = document.get("current-snapshot-id")
    for snapshot in document.get("snapshots") or []:
        if snapshot.get("snapshot-id") == current:
            path = normalised(str(snapshot.get("manifest-list")))
            return path.startswith(beside) and path not in present
    return False
