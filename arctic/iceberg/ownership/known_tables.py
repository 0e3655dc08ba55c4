"""Every table of a catalog with the place of its files: asked for before files are deleted.

It costs one query and one small file for each table where the catalog is a database, whatever
the names under which other catalogs use the same database; elsewhere one request for each table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable, Table

from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.listing import (
    DatabaseEntry,
    database_entries,
    namespaces,
    table_identifiers,
)
from arctic.iceberg.ownership.reachable import referenced_paths
from arctic.iceberg.storage.metadata_document import metadata_document
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors
from arctic.table.property_names import CLONE_OF, PUBLISHED_OF

_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTable:
    """A table, view or store that a catalog knows."""

    catalog: str
    """The name of the catalog; a database may hold several."""
    name: str
    uuid: str | None
    """None: its metadata cannot be read."""
    location: str
    """Where its metadata lies, if that does not say."""
    metadata_location: str
    published_of: str | None
    """The UUID of the base store whose merged view it shows; None: it shows none, or cannot be
    read."""
    clone_of: frozenset[str] = frozenset()
    """The UUIDs of stores whose files it may refer to, as a store of a clone."""


def sources_of(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the UUIDs of the stores whose files a store of a clone may refer to.

    >>> sources_of({}), sorted(sources_of({"arctic.clone-of": "a,b"}))
    (frozenset(), ['a', 'b'])
    """
    return frozenset(filter(None, properties.get(CLONE_OF, "").split(",")))


def known_tables(catalog: Catalog) -> tuple[KnownTable, ...]:
    """Return all tables of all namespaces, those of the caller among them.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    if not isinstance(catalog, SqlCatalog):
        return tuple(_loaded(catalog))
    entries = database_entries(catalog)
    io = TableIO(properties=dict(catalog.properties), location="")
    with ThreadPoolExecutor(_THREADS) as threads:
        return tuple(threads.map(partial(_read, io), entries))


def paths_of(catalog: Catalog, metadata_location: str, *, name: str) -> frozenset[str]:
    """Return what a table refers to by a metadata file, whoever has it, normalised.

    Snapshots whose manifest list is gone, which nobody can read any more, refer to nothing.

    Raises:
        StorageError: the file, or what it refers to, cannot be read.
        FormatError: it cannot be parsed.
    """
    with catalog_errors(f"load table {name!r}"):
        table: Table = StaticTable.from_metadata(metadata_location, dict(catalog.properties))
        gone = frozenset(
            each.snapshot_id
            for each in table.metadata.snapshots
            if not table.io.new_input(each.manifest_list).exists()
        )
    return referenced_paths(table, without=gone)


def _read(io: TableIO, entry: DatabaseEntry) -> KnownTable:
    try:
        document = metadata_document(io, entry.metadata_location) or {}
    except ArcticError:
        document = {}  # its place speaks for it
    beside = entry.metadata_location.rpartition("/")[0].rpartition("/")[0]
    uuid = document.get("table-uuid", document.get("view-uuid"))
    properties = document.get("properties") or {}
    return KnownTable(
        catalog=entry.catalog,
        name=entry.identifier,
        uuid=None if uuid is None else str(uuid),
        location=str(document.get("location") or beside),
        metadata_location=entry.metadata_location,
        published_of=properties.get(PUBLISHED_OF),
        clone_of=sources_of(properties),
    )


def _loaded(catalog: Catalog) -> Iterator[KnownTable]:
    """Yield all tables; those too that came while others were loaded, perhaps as clones of them."""
    seen: set[tuple[str, ...]] = set()
    while new := [each for each in _listed(catalog) if each not in seen]:
        seen.update(new)
        for identifier in new:
            table = load_table(catalog, identifier)
            if table is not None:
                yield KnownTable(
                    catalog=catalog.name,
                    name=".".join(identifier),
                    uuid=str(table.metadata.table_uuid),
                    location=table.location(),
                    metadata_location=table.metadata_location,
                    published_of=table.properties.get(PUBLISHED_OF),
                    clone_of=sources_of(table.properties),
                )


def _listed(catalog: Catalog) -> Iterator[tuple[str, ...]]:
    for namespace in namespaces(catalog):
        yield from table_identifiers(catalog, namespace)
