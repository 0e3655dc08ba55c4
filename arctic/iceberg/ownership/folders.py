"""The folders that a store keeps its files in, and which other tables keep files there.

Rules:
    - A table's own files are those below the location of one of its stores; a link that leads out
      of it leads to somebody else's.
    - A table of any namespace counts, and one of the same UUID wherever it is: the same metadata,
      registered twice, refers to the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import StorageError, UnsupportedError
from arctic.iceberg.ownership.known_tables import KnownTable, known_tables
from arctic.iceberg.ownership.reachable import normalised
from arctic.iceberg.storage.metadata_document import METADATA_FILE
from arctic.iceberg.storage.table_io import FoundFile, TableIO

FOLDERS = ("data", "metadata")
"""All that a store keeps below its location."""

_TABLE_FILES = (
    *(".avro", ".crc", METADATA_FILE, f"{METADATA_FILE}.gz", ".orc", ".parquet", ".puffin"),
    *(".stats", "version-hint.text"),
)
"""How the names of files end that writers of tables make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another table that may refer to files in the folders of this one."""

    table: KnownTable
    shares: str | None
    """The folder of data or metadata that both use; None: it lies elsewhere in the location."""
    is_same: bool
    """It has the UUID of a store of this table."""

    @property
    def reason(self) -> str | None:
        """Why files that nothing refers to may be the other one's; None: they are not."""
        if self.shares is not None:
            return f"table {self.table.name!r} keeps files in {self.shares!r} too"
        if self.is_same:
            return f"table {self.table.name!r} is the same one, registered once more"
        return None


def neighbours(stores: Sequence[Table], known: Iterable[KnownTable]) -> tuple[Neighbour, ...]:
    """Return the tables that live inside the location of these stores, around it, or are the same.

    Args:
        stores: of one table; what they share among themselves does not count.
        known: all tables of the catalog.
    """
    own = {(store.catalog.name, ".".join(store.name())) for store in stores}
    uuids = {str(store.metadata.table_uuid) for store in stores}
    roots = [_folder(store.location()) for store in stores]
    places = [place for store in stores for place in folders_of(store)]
    found = []
    for table in known:
        if (table.catalog, table.name) in own:
            continue
        theirs = [_folder(f"{table.location}/{folder}") for folder in FOLDERS]
        theirs.append(normalised(table.metadata_location))
        shared = [place for place in places if _overlaps(_folder(place), theirs)]
        is_same = table.uuid in uuids
        if shared or is_same or any(_overlaps(root, theirs) for root in roots):
            found.append(Neighbour(table=table, shares=next(iter(shared), None), is_same=is_same))
    return tuple(found)


def shared_with(catalog: Catalog, stores: Sequence[Table]) -> str | None:
    """Say which other table of the catalog may have files in the folders of these stores.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    return shared_by(stores, known_tables(catalog))


def shared_by(stores: Sequence[Table], known: Iterable[KnownTable]) -> str | None:
    """Say which of all tables of the catalog may have files in the folders of these stores."""
    reasons = (each.reason for each in neighbours(stores, known))
    return next((reason for reason in reasons if reason is not None), None)


def owner_of(path: str, known: Iterable[KnownTable]) -> KnownTable | None:
    """Return a table in whose location a file lies."""
    name = normalised(path)
    return next((table for table in known if name.startswith(_folder(table.location))), None)


def is_own(path: str, stores: Iterable[Table]) -> bool:
    """Say whether a file lies below the location of one of these stores, links followed."""
    name = normalised(path)
    return any(name.startswith(_folder(store.location())) for store in stores)


def folders_of(store: Table, *names: str) -> tuple[str, ...]:
    """Return the folders of a store, or some, as writers spell them: no slash ends a location."""
    location = store.location().rstrip("/")
    return tuple(f"{location}/{name}" for name in names or FOLDERS)


def own_files(store: Table, *folders: str) -> list[FoundFile]:
    """Return the files in the folders of a store, or some; what a link leads to is left out.

    Raises:
        StorageError: a folder cannot be listed.
        UnsupportedError: this access cannot list files.
    """
    io = TableIO.of(store)
    listed = (io.list_files(place) for place in folders_of(store, *folders))
    return [file for files in listed for file in files if is_own(file.path, [store])]


def delete_own_files(store: Table) -> tuple[str, ...]:
    """Delete what writers of tables made in the folders of a store; return what may have stayed.

    That is the folders where they cannot be looked into.
    """
    io = TableIO.of(store)
    try:
        made = [file.path for file in own_files(store) if is_a_tables(file.path)]
    except (StorageError, UnsupportedError):
        return folders_of(store)
    left = io.delete_quietly(made)
    io.delete_if_empty(store.location(), with_empty_folders=True)
    return left


def is_a_tables(path: str) -> bool:
    """Say whether a file has a name that some writer of tables gives.

    >>> is_a_tables("x/00000-0-1.parquet"), is_a_tables("x/thesis.doc")
    (True, False)
    """
    return path.endswith(_TABLE_FILES)


def _folder(location: str) -> str:
    return normalised(f"{location.rstrip('/')}/")


def _overlaps(place: str, others: Iterable[str]) -> bool:
    return any(place.startswith(other) or other.startswith(place) for other in others)
