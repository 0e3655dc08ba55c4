"""Catalogs: which one the options mean, opened so that its commits are ours.

Rules:
    - Without a catalog option, tables live in ``<warehouse>/catalog.db`` and below the warehouse.
    - Whichever it is, its commits are made ours: ordered, signed, checked, and without leftovers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
)
from pyiceberg.table import Table

from arctic.errors import FormatError, InvalidInputError
from arctic.iceberg.catalogs.blob_types import accept_any_blob_type
from arctic.iceberg.catalogs.kept_catalogs import KEPT_CATALOGS
from arctic.iceberg.catalogs.opening import (
    CATALOG_NAME,
    local_folder,
    open_embedded,
    open_named,
    settings_of_server,
)
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.sqlite import (
    file_of,
    first_use,
    location_errors,
)
from arctic.iceberg.catalogs.staged_metadata import commit_our_way
from arctic.iceberg.storage.checked_io import check_metadata_of
from arctic.iceberg.storage.many_snapshots import look_up_by_index
from arctic.iceberg.translate import catalog_errors
from arctic.options import CATALOG, CATALOG_PREFIX, SEALED_PREFIX, WAP_BRANCH, WAREHOUSE
from arctic.retry import AT_ONCE

# Of PyIceberg, before a table is loaded: Amoro's optimizer writes blob types of its own.
accept_any_blob_type()
look_up_by_index()

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
    wap_branch: str | None = None
    """Where tables are read and written that have ``write.wap.enabled``; None: as any other."""

    @property
    def label(self) -> str:
        """The name by which messages call it; it tells no place."""
        return self.name or CATALOG_NAME

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
        wap_branch = WAP_BRANCH.value(options)
        if name is None and not properties.keys() & _CATALOG_CHOICES:
            given = warehouse or properties.pop("warehouse", None)
            folder = given or os.environ.get(_WAREHOUSE_VARIABLE) or _DEFAULT_WAREHOUSE
            name, warehouse = None, local_folder(folder)
        else:
            name = name or CATALOG_NAME
        return cls(name=name, warehouse=warehouse, properties=properties, wap_branch=wap_branch)


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
    if config.name is not None:
        named = (config.name, config.warehouse, config.properties)
        settings = settings_of_server(*named)
        if settings is None:
            return _with_our_commits(open_named(*named, create=create))
        return KEPT_CATALOGS.on_server(
            settings, lambda: _with_our_commits(open_named(*named, create=create))
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
    commit_our_way(catalog)
    check_metadata_of(catalog)
    return catalog


def load_table(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
    """Load an Iceberg table; None when there is none of this name.

    Raises:
        FormatError: its metadata cannot be parsed.
        InvalidInputError: a database that does not tell its name from that of another table.
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


def _load(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
    try:
        with location_errors(catalog):
            table = catalog.load_table(identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None
    if isinstance(catalog, SqlCatalog) and tuple(table.name()) != identifier:
        name, found = ".".join(identifier), ".".join(table.name())
        if file_of(catalog):
            raise FormatError(
                f"table {name!r}{file_of(catalog)}: its entry is that of {found!r}: the file is "
                "damaged; restore it from a copy"
            )
        raise InvalidInputError(
            f"table {name!r}: the catalog's database takes it for {found!r}; write the name so, "
            "or give the columns of its tables a collation that tells all letters apart"
        )
    return table


def _ensure_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    if not catalog.namespace_exists(namespace):
        with contextlib.suppress(NamespaceAlreadyExistsError):
            catalog.create_namespace(namespace)
