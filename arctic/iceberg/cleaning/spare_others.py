"""Which files of expired snapshots stay all the same: those that may be somebody else's.

Rules:
    - Own files are those below the location of one of the table's stores. Others are deleted only
      when told to, and never out of the location of another table.
    - What other tables refer to stays: those that live in the same folders or have the same UUID,
      those that show the merged view of this one, clones, and what metadata of others in the
      table's folder tells.
    - Where that cannot be read, all files stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table import Table

from arctic.errors import FormatError, StorageError, UnsupportedError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.ownership.clones import related_paths
from arctic.iceberg.ownership.folders import is_own, neighbours, own_files, owner_of
from arctic.iceberg.ownership.known_tables import KnownTable, known_tables, paths_of
from arctic.iceberg.ownership.published import published_paths
from arctic.iceberg.ownership.strangers import reached_by, strangers
from arctic.iceberg.tables.open_table import OpenTable

_UNKNOWN = (FormatError, StorageError, UnsupportedError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """Files that stay, by normalised paths."""

    outside: frozenset[str]
    """They lie outside the table's folders."""
    needed: frozenset[str]
    """Another table refers to them, or may."""
    notes: tuple[str, ...]


def spare_others(opened: OpenTable, paths: frozenset[str], *, deletes_outside: bool) -> Spared:
    """Say which files stay although this table does not refer to them any more.

    Args:
        opened: the table.
        paths: the files, normalised.
        deletes_outside: whether the caller was told to delete files outside the table's folders.

    What cannot be asked, such as a table of the catalog that does not load, makes all files stay:
    the snapshots that had them are gone already, and a later cleaning finds the files.
    """
    stores = [store for store in (opened.base, opened.change) if store is not None]
    try:
        known = known_tables(opened.base.catalog)
    except _UNKNOWN as error:
        note = f"{len(paths)} files stay, because not all tables can be read: {error.message}"
        return Spared(outside=frozenset(), needed=paths, notes=(note,))
    outside = frozenset(path for path in paths if not is_own(path, stores))
    notes = []
    if deletes_outside:
        outside = frozenset(path for path in outside if owner_of(path, known) is not None)
        remedy = "inside another table's folders"
    else:
        remedy = "outside the table's folders; option delete-outside-files=true deletes them"
    if outside:
        notes.append(
            f"{len(outside)} files such as {min(outside)!r} stay, because they lie {remedy}"
        )
    try:
        needed = paths & _others_need(stores, known) - outside
    except _UNKNOWN as error:
        needed = paths - outside
        notes.append(
            f"{len(needed)} files stay, because it cannot be known whether other tables in the "
            f"same folders need them: {error.message}"
        )
    else:
        if needed:
            notes.append(
                f"{len(needed)} files such as {min(needed)!r} stay, because another table refers "
                "to them"
            )
    return Spared(outside=outside, needed=needed, notes=tuple(notes))


def _others_need(stores: Sequence[Table], known: Sequence[KnownTable]) -> frozenset[str]:
    """Return what tables refer to that lie around these stores, or share files, normalised."""
    needed: set[str] = set(published_paths(refresh(stores[0]), known))
    needed |= related_paths(stores, known)
    for each in neighbours(stores, known):
        needed |= paths_of(stores[0].catalog, each.table.metadata_location, name=each.table.name)
    for store in stores:
        listed = own_files(store, "metadata")
        found = strangers(refresh(store), listed)
        needed |= reached_by(store, found)
    return frozenset(needed)
