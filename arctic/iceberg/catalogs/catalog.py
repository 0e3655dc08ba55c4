"""Catalogs: which one the options mean, and what is in it.

Rules:
    - Without a catalog option, tables live in ``<warehouse>/catalog.db`` and below the warehouse.
    - Whichever it is, its commits are made ours: ordered, signed, checked, and without leftovers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
)
from pyiceberg.table import Table
from sqlalchemy import select
from sqlalchemy.orm import Session

from arctic.errors import ArcticError, FormatError, NotFoundError
from arctic.iceberg.catalogs.blob_types import accept_any_blob_type
from arctic.iceberg.catalogs.clock import keep_order
from arctic.iceberg.catalogs.kept_catalogs import KEPT_CATALOGS
from arctic.iceberg.catalogs.metadata_files import leave_no_metadata
from arctic.iceberg.catalogs.opening import (
    CATALOG_NAME,
    local_folder,
    open_embedded,
    open_named,
)
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.shared_metadata import share_metadata
from arctic.iceberg.catalogs.sqlite import (
    file_of,
    first_use,
    location_errors,
)
from arctic.iceberg.storage.checked_io import check_metadata_of
from arctic.iceberg.storage.metadata_document import metadata_document
from arctic.iceberg.storage.signed_names import sign_metadata
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors
from arctic.options import CATALOG, CATALOG_PREFIX, SEALED_PREFIX, WAREHOUSE
from arctic.retry import AT_ONCE

# Before a table is loaded: Amoro's optimizer writes blob types of its own.
accept_any_blob_type()

_WAREHOUSE_VARIABLE = "ARCTIC_WAREHOUSE"
_DEFAULT_WAREHOUSE = "warehouse"
_CATALOG_FILE = "catalog.db"
_CATALOG_CHOICES = frozenset({"uri", "type", "py-catalog-impl"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogConfig:
    """Which catalog, as a value that can go to another process."""

    name: str | None
    """A PyIceberg catalog; None is the embedded SQLite catalog of ``warehouse``."""
    warehouse: str | None
    """The absolute folder of the embedded catalog; as given for a named catalog."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """PyIceberg catalog properties; not printed, because they hold passwords."""

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> CatalogConfig:
        """Read ``warehouse``, ``catalog`` and ``catalog.<property>``, names without case.

        What stands under ``catalog.secret.<property>`` wins over the same without ``secret``.

        The working directory and ARCTIC_WAREHOUSE are read here, once, so that the value means
        the same folder in every process.

        Raises:
            InvalidInputError: a warehouse that the embedded catalog cannot live in.
        """
        properties = _catalog_properties(options)
        name, warehouse = CATALOG.value(options), WAREHOUSE.value(options)
        if name is None and not properties.keys() & _CATALOG_CHOICES:
            given = warehouse or properties.pop("warehouse", None)
            folder = given or os.environ.get(_WAREHOUSE_VARIABLE) or _DEFAULT_WAREHOUSE
            return cls(name=None, warehouse=local_folder(folder), properties=properties)
        return cls(name=name or CATALOG_NAME, warehouse=warehouse, properties=properties)


def _catalog_properties(options: Mapping[str, str]) -> dict[str, str]:
    plain: dict[str, str] = {}
    sealed: dict[str, str] = {}
    for key, text in options.items():
        name = key.lower()
        if name.startswith(SEALED_PREFIX):
            sealed[name[len(SEALED_PREFIX) :]] = str(text)
        elif name.startswith(CATALOG_PREFIX):
            plain[name[len(CATALOG_PREFIX) :]] = str(text)
    return {**plain, **sealed}


def open_catalog(config: CatalogConfig, *, create: bool = False) -> Catalog:
    """Open a catalog.

    Args:
        config: which one.
        create: make a missing warehouse folder or SQLite file.

    Raises:
        NotFoundError: a missing warehouse or SQLite file, without ``create``.
        InvalidInputError: a catalog that is not configured.
        UnsupportedError: the client library of this catalog is not installed.
        StorageError: the catalog cannot be reached.
    """
    accept_any_blob_type()
    if config.name is not None:
        return _with_our_commits(
            open_named(config.name, config.warehouse, config.properties, create=create)
        )
    database = Path(str(config.warehouse)) / _CATALOG_FILE
    catalog = KEPT_CATALOGS.of(
        database,
        tuple(sorted(config.properties.items())),
        lambda: _with_our_commits(open_embedded(database, config.properties, create=create)),
    )
    if create:
        check_writable(catalog)
    return catalog


def _with_our_commits(catalog: Catalog) -> Catalog:
    share_metadata(catalog)
    keep_order(catalog)
    sign_metadata(catalog)
    leave_no_metadata(catalog)
    check_metadata_of(catalog)
    return catalog


def load_table(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
    """Load an Iceberg table; None when there is none of this name.

    Raises:
        FormatError: its metadata cannot be parsed.
        StorageError: the catalog or the metadata file cannot be reached.
    """
    name = ".".join(identifier)
    with catalog_errors(f"load table {name!r}{file_of(catalog)}"):
        # Writers delete old metadata files: the one that the catalog named can be gone by now.
        return AT_ONCE.run(partial(_load, catalog, identifier), on=FileNotFoundError)


def create_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    """Create a namespace and its parents where they are missing.

    Raises:
        StorageError: the catalog failed.
    """
    with catalog_errors(f"create namespace {'.'.join(namespace)!r}"):
        for depth in range(1, len(namespace) + 1):
            first_use(partial(_ensure_namespace, catalog, namespace[:depth]))


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
    entries = {
        (*entry.namespace.split("."), entry.name): entry.metadata_location
        for entry in database_entries(catalog)
        if entry.catalog == catalog.name
    }
    io = TableIO(properties=dict(catalog.properties), location="")
    names = []
    for parts in wanted:
        for identifier in table_identifiers(catalog, parts):
            properties = _properties(catalog, io, identifier, entries.get(identifier))
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


def namespaces(catalog: Catalog, parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every namespace of a catalog, parents first.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    with catalog_errors("list namespaces"):
        children = sorted(catalog.list_namespaces(parent))
    for child in children:
        yield child
        yield from namespaces(catalog, child)


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


def _load(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
    try:
        with location_errors(catalog):
            table = catalog.load_table(identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None
    if file_of(catalog) and tuple(table.name()) != identifier:
        raise FormatError(
            f"table {'.'.join(identifier)!r}{file_of(catalog)}: its entry is that of "
            f"{'.'.join(table.name())!r}: the file is damaged; restore it from a copy"
        )
    return table


def _ensure_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    if not catalog.namespace_exists(namespace):
        with contextlib.suppress(NamespaceAlreadyExistsError):
            catalog.create_namespace(namespace)
