"""Files in the folders of a table that nothing refers to.

Rules:
    - The folders are listed first, what is referred to is loaded afterwards: a file that is
      committed in between is never taken for an orphan.
    - A file whose age the store does not tell stays, and so does what a Flink job may still commit:
      its checkpoints name manifests that no metadata refers to yet.
    - A file that bears the name of a known one stays: it may be the same by another path.
    - Where another table keeps its files too, or where no listed file is known, nothing is
      touched: what looks like an orphan there may be somebody's rows.
    - A file stays that another table refers to: the same table in another catalog, a published
      view of this one, or a clone.
    - A file with a name that no writer of tables gives stays: nobody knows whose it is.

Source: amoro IcebergTableMaintainer.cleanOrphanFiles @96a4d781a. Differs: files that the other
store refers to stay, and so do folders; manifests of every known Flink job do, not of the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from pyiceberg.table import Table

from arctic.errors import ArcticError, FormatError, StorageError, UnsupportedError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.ownership.clones import related_paths
from arctic.iceberg.ownership.folders import (
    folders_of,
    is_a_tables,
    own_files,
    shared_by,
    shared_with,
)
from arctic.iceberg.ownership.known_tables import KnownTable, known_tables
from arctic.iceberg.ownership.published import published_paths
from arctic.iceberg.ownership.reachable import normalised, referenced_paths
from arctic.iceberg.ownership.strangers import Stranger, reached_by, strangers
from arctic.iceberg.storage.metadata_document import METADATA_FILE
from arctic.iceberg.storage.table_io import FoundFile
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.expire_report import ExpiredItem, ExpiredKind
from arctic.table.expiry import duration_text, is_old

_VERSION_HINT = "version-hint.text"
"""By which readers without a catalog find the newest metadata."""
_FLINK_JOB = "flink.job-id"
"""Summary key; the manifests of a job that has not committed them begin with its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """What a search found."""

    items: tuple[ExpiredItem, ...] = ()
    notes: tuple[str, ...] = ()
    """Why something was left out, or everything."""


def find_orphans(opened: OpenTable, *, min_age_ms: int, now_ms: int) -> Orphans:
    """Search the folders of a table for files that nothing refers to.

    Args:
        opened: the table.
        min_age_ms: age below which a file stays: a write that runs now may commit it.
        now_ms: milliseconds since 1970-01-01 UTC.

    Raises:
        StorageError: a folder, the catalog or a manifest cannot be read.
    """
    stores = {"base": copy(opened.base)}
    if opened.change is not None:
        stores["change"] = copy(opened.change)
    try:
        listed = {name: own_files(store) for name, store in stores.items()}
    except UnsupportedError as error:
        return _skipped(error.message)
    for name, store in stores.items():
        stranger = _metadata_of_another(store, listed[name])
        if stranger is not None:
            return _not_alone(
                stores, f"{stranger!r} looks like another table inside the {name} store"
            )
    known = frozenset[str]().union(*(referenced_paths(refresh(store)) for store in stores.values()))
    others = [other for name in stores for other in strangers(stores[name], listed[name])]
    for other in others:
        if not other.is_same:
            return _not_alone(stores, other.reason)
    for name, files in listed.items():
        if files and not any(normalised(file.path) in known for file in files):
            return _skipped(f"none of the {len(files)} files of the {name} store is referred to")
    candidates = {
        name: [
            file
            for file in files
            if normalised(file.path) not in known and not _is_in_use(file, stores[name])
        ]
        for name, files in listed.items()
    }
    names = frozenset(_name(path) for path in known)
    found = _orphans(candidates, names, min_age_ms=min_age_ms, now_ms=now_ms)
    if found.items:
        try:
            tables = known_tables(opened.base.catalog)
        except ArcticError as error:  # of any table, whoever broke it
            return _skipped(f"not every table of the catalog can be read: {error.message}")
        shared = shared_by(list(stores.values()), tables)
        if shared is not None:
            return _skipped(shared)
        found = _unshared(list(stores.values()), found, tables)
    return found if not others else _spared(opened.base, found, others)


def _unshared(stores: Sequence[Table], found: Orphans, tables: Sequence[KnownTable]) -> Orphans:
    """Leave out what tables refer to that show the merged view of this one, or are clones."""
    try:
        shared = published_paths(refresh(stores[0]), tables) | related_paths(stores, tables)
    except (StorageError, FormatError) as error:
        return _skipped(f"what shares files of this table cannot be read: {error.message}")
    items = tuple(item for item in found.items if normalised(item.name) not in shared)
    return replace(found, items=items)


def _is_in_use(file: FoundFile, store: Table) -> bool:
    """Say whether a file that no metadata refers to has a reader all the same."""
    folder, _, name = file.path.rpartition("/")
    if not folder.endswith("/metadata"):
        return False
    jobs = {
        str(each.summary[_FLINK_JOB])
        for each in store.metadata.snapshots
        if each.summary is not None and each.summary[_FLINK_JOB] is not None
    }
    return name == _VERSION_HINT or name.startswith(tuple(jobs))


def _orphans(
    candidates: Mapping[str, Sequence[FoundFile]],
    known_names: frozenset[str],
    *,
    min_age_ms: int,
    now_ms: int,
) -> Orphans:
    items: dict[str, ExpiredItem] = {}
    ageless: list[str] = []
    doubtful: list[str] = []
    strange: list[str] = []
    for store, files in candidates.items():
        for file in files:
            if file.modified_ms is None:
                ageless.append(file.path)
            elif not is_old(file.modified_ms, duration_ms=min_age_ms, now_ms=now_ms):
                continue
            elif not is_a_tables(file.path):
                strange.append(file.path)
            elif _name(file.path) in known_names:
                doubtful.append(file.path)
            else:
                items.setdefault(normalised(file.path), _orphan(store, file, min_age_ms))
    return Orphans(
        items=tuple(items.values()),
        notes=(
            *_stay(ageless, "their age is not known"),
            *_stay(doubtful, "a file of the same name is referred to by another path"),
            *_stay(strange, "no writer of tables gives such names"),
        ),
    )


def _spared(base: Table, found: Orphans, others: Sequence[Stranger]) -> Orphans:
    """Leave out what metadata of the same table refers to that another catalog may have."""
    try:
        kept = reached_by(base, others)
    except (StorageError, FormatError) as error:
        return _skipped(f"{others[0].reason}, and what it needs cannot be known: {error.message}")
    return Orphans(
        items=tuple(item for item in found.items if normalised(item.name) not in kept),
        notes=(*found.notes, *(f"{other.reason}; what it refers to stays" for other in others)),
    )


def _orphan(store: str, file: FoundFile, min_age_ms: int) -> ExpiredItem:
    return ExpiredItem(
        store=store,
        kind=ExpiredKind.ORPHAN,
        name=file.path,
        size_bytes=file.size_bytes,
        reason=f"nothing refers to it, and it is older than {duration_text(min_age_ms)}",
    )


def _stay(paths: Sequence[str], reason: str) -> tuple[str, ...]:
    if not paths:
        return ()
    return (f"{len(paths)} files such as {paths[0]!r} stay, because {reason}",)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _metadata_of_another(store: Table, files: Sequence[FoundFile]) -> str | None:
    """Return a metadata file in a place where this store has none."""
    own = f"{folders_of(store, 'metadata')[0]}/"
    for file in files:
        if file.path.endswith(METADATA_FILE):
            folder, _, rest = file.path.partition(own)
            if folder or "/" in rest:
                return file.path
    return None


def _not_alone(stores: Mapping[str, Table], evidence: str) -> Orphans:
    """Leave all out; the catalog may know whose the evidence is."""
    found = list(stores.values())
    return _skipped(shared_with(found[0].catalog, found) or evidence)


def _skipped(reason: str) -> Orphans:
    return Orphans(notes=(f"the search for orphans was left out: {reason}",))
