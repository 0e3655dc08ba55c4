"""What is in a catalog: its namespaces, its tables, and which of them are Arctic's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError
from sqlalchemy import select
from sqlalchemy.orm import Session

from arctic.errors import ArcticError, NotFoundError, StorageError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.storage.metadata_document import metadata_document
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors, is_refused


def list_tables(config: CatalogConfig, namespace: str | None = None) -> tuple[str, ...]:
    """Return the dotted names of Arctic's tables, sorted.

    Change stores and other Iceberg tables are left out. A pair whose change store is missing is
    listed: opening it says what is wrong. A catalog that is a database is asked once, and tells
    which small file to read for each table; any other is asked for each table.

    Args:
        config: the catalog.
        namespace: one namespace, without those inside it; None lists all of them.

    Raises:
        NotFoundError: no such warehouse or namespace.
        FormatError: the metadata of a table cannot be parsed.
        StorageError: the catalog, or the metadata of a table, cannot be reached.
    """
    catalog = open_catalog(config)
    wanted = [tuple(namespace.split("."))] if namespace else list(namespaces(catalog))
    places = metadata_places(catalog)
    io = TableIO(properties=dict(catalog.properties), location="")
    names = []
    for parts in wanted:
        try:
            identifiers = table_identifiers(catalog, parts)
        except NotFoundError:
            if namespace:
                raise
            continue  # It was dropped since all were listed.
        for identifier in identifiers:
            properties = _properties(catalog, io, identifier, places.get(".".join(identifier)))
            if store_of(properties) == "base":
                names.append(".".join(identifier))
    return tuple(sorted(names))


def _properties(
    catalog: Catalog, io: TableIO, identifier: tuple[str, ...], metadata_location: str | None
) -> Mapping[str, str]:
    document = None
    if metadata_location is not None:
        # What is wrong with it is said below, unless it was replaced meanwhile.
        with contextlib.suppress(ArcticError):
            document = metadata_document(io, metadata_location)
    if document is not None and isinstance(document.get("properties"), dict):
        return dict(document["properties"])
    table = load_table(catalog, identifier)
    return {} if table is None else table.properties


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseEntry:
    """What a database says of a table, view or store."""

    catalog: str
    """The name of the catalog; a database may hold several."""
    namespace: str
    name: str
    metadata_location: str

    @property
    def identifier(self) -> str:
        """``namespace.name``."""
        return f"{self.namespace}.{self.name}"


def database_entries(catalog: Catalog) -> tuple[DatabaseEntry, ...]:
    """Return all entries of a catalog that is a database, by one query; any other has none.

    Raises:
        StorageError: the database cannot be reached.
    """
    if not isinstance(catalog, SqlCatalog):
        return ()
    columns = (
        IcebergTables.catalog_name,
        IcebergTables.table_namespace,
        IcebergTables.table_name,
        IcebergTables.metadata_location,
    )
    with catalog_errors("list all tables"), Session(catalog.engine) as session:
        return tuple(
            DatabaseEntry(catalog=row[0], namespace=row[1], name=row[2], metadata_location=row[3])
            for row in session.execute(select(*columns))
            if row[3]
        )


def metadata_places(catalog: Catalog) -> dict[str, str]:
    """Return where the metadata of a catalog's own tables is, as one query tells it, by identifier.

    Raises:
        StorageError: the database cannot be reached.
    """
    return {
        entry.identifier: entry.metadata_location
        for entry in database_entries(catalog)
        if entry.catalog == catalog.name
    }


def namespaces(
    catalog: Catalog,
    parent: tuple[str, ...] = (),
    *,
    refused: dict[tuple[str, ...], StorageError] | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield every namespace of a catalog, parents first; one that is dropped meanwhile holds none.

    Args:
        catalog: the catalog.
        parent: only those inside it.
        refused: takes those in which the catalog does not allow to list namespaces, with what it
            said; None: that is an error.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    try:
        with catalog_errors("list namespaces"):
            children = sorted(catalog.list_namespaces(parent))
    except NoSuchNamespaceError:
        if not parent:
            raise
        return
    except StorageError as error:
        if not parent or refused is None or not is_refused(error):
            raise
        refused[parent] = error
        return
    for child in children:
        yield child
        yield from namespaces(catalog, child, refused=refused)


def table_identifiers(catalog: Catalog, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the identifiers of all Iceberg tables of a namespace, sorted.

    Raises:
        NotFoundError: no such namespace.
        StorageError: the catalog cannot be reached.
    """
    name = ".".join(namespace)
    with catalog_errors(f"list tables of namespace {name!r}"):
        try:
            return sorted(catalog.list_tables(namespace))
        except NoSuchNamespaceError as error:
            raise NotFoundError(f"namespace {name!r} does not exist") from error
