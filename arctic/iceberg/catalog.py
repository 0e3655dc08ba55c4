"""Catalogs: which one the options mean, how it is opened, what is in it.

Rules:
    - Without a catalog option, tables live in ``<warehouse>/catalog.db`` and below the warehouse.
    - Locations are ``file://`` URIs: Java and position deletes compare them as text.
    - A reader never creates a folder or a file, and needs no permission to.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchPropertyException,
    NoSuchTableError,
)
from pyiceberg.table import Table
from pyiceberg.utils.config import Config

from arctic.errors import FormatError, InvalidInputError, NotFoundError
from arctic.iceberg.blob_types import accept_any_blob_type
from arctic.iceberg.checked_io import check_metadata_of
from arctic.iceberg.clock import keep_order
from arctic.iceberg.metadata_files import leave_no_metadata
from arctic.iceberg.pair import store_of
from arctic.iceberg.read_only import ReadOnlySqlCatalog, check_writable, may_only_read
from arctic.iceberg.signed_names import sign_metadata
from arctic.iceberg.sqlite import (
    database_of,
    file_of,
    first_use,
    harden,
    location_errors,
    sqlite_uri,
)
from arctic.iceberg.translate import catalog_errors
from arctic.options import CATALOG, CATALOG_PREFIX, SEALED_PREFIX, WAREHOUSE
from arctic.redact import Secrets, without_secrets

# Before a table is loaded: Amoro's optimizer writes blob types of its own.
accept_any_blob_type()

CATALOG_NAME = "arctic"
"""The catalog's name inside SQL catalogs, where the options give none."""

_WAREHOUSE_VARIABLE = "ARCTIC_WAREHOUSE"
_DEFAULT_WAREHOUSE = "warehouse"
_LOAD_TRIES = 5
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
            return cls(name=None, warehouse=_local_folder(folder), properties=properties)
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
    if config.name is None:
        catalog = _open_embedded(config, create=create)
    else:
        catalog = _open_named(config.name, config, create=create)
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
        for _ in range(_LOAD_TRIES - 1):
            # Writers delete old metadata files: the one that the catalog named can be gone by now.
            with contextlib.suppress(FileNotFoundError):
                return _load(catalog, identifier)
        return _load(catalog, identifier)


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
    listed: opening it says what is wrong.

    Args:
        config: the catalog.
        namespace: one namespace, without those inside it; None lists all of them.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    wanted = [tuple(namespace.split("."))] if namespace else list(namespaces(catalog))
    names = []
    for parts in wanted:
        for identifier in table_identifiers(catalog, parts):
            table = load_table(catalog, identifier)
            if table is not None and store_of(table.properties) == "base":
                names.append(".".join(identifier))
    return tuple(sorted(names))


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


def _local_folder(warehouse: str) -> str:
    path = re.sub(r"^file:(//(localhost)?(?=/))?", "", warehouse)
    if path != warehouse and "%" in path:
        raise InvalidInputError(
            f"warehouse {warehouse!r}: percent-encoding is not decoded; give the plain path"
        )
    if re.match(r"[A-Za-z][\w+.-]*://", path):
        raise InvalidInputError(
            f"warehouse {without_secrets(warehouse)!r}: the embedded SQLite catalog needs a local "
            "folder; for remote storage set catalog.uri"
        )
    path = os.path.abspath(os.path.expanduser(path))
    if re.search(r"[#?\x00-\x1f]", path):
        raise InvalidInputError(
            f"warehouse {path!r}: '#', '?' and control characters cannot stand in a location URI"
        )
    return path


def _load_catalog(name: str, properties: Mapping[str, str], *, create: bool) -> Catalog:
    known = {**(Config().get_catalog_config(name) or {}), **properties}
    uri = str(known.get("uri", ""))
    if uri.startswith("sqlite") and may_only_read(database_of(uri)):
        return _read_only(name, {key: str(text) for key, text in known.items()}, create=create)
    return first_use(partial(load_catalog, name, **properties))


def _open_named(name: str, config: CatalogConfig, *, create: bool) -> Catalog:
    properties = dict(config.properties)
    if config.warehouse is not None:
        properties.setdefault("warehouse", config.warehouse)
    if properties.get("type", "").lower() == "in-memory":
        raise InvalidInputError(
            "catalog.type = 'in-memory': it is forgotten after the call; set warehouse to a folder"
        )
    secrets = Secrets.of(properties)
    with catalog_errors(f"open catalog {name!r}", secrets):
        if properties.get("uri", "").startswith("sqlite"):
            _check_file(database_of(properties["uri"]), f"catalog {name!r}", create=create)
        try:
            catalog = _load_catalog(name, properties, create=create)
        except (ValueError, AttributeError, NoSuchPropertyException) as error:
            raise InvalidInputError(
                f"catalog {name!r}: {secrets.hide(str(error))}; set catalog.uri and "
                "catalog.type, or configure it in .pyiceberg.yaml"
            ) from secrets.cause(error)
        if isinstance(catalog, SqlCatalog):
            _use_file_uri(catalog)
            if not isinstance(catalog, ReadOnlySqlCatalog):
                harden(catalog)
    return catalog


def _open_embedded(config: CatalogConfig, *, create: bool) -> Catalog:
    folder = Path(str(config.warehouse))
    subject = f"warehouse {str(folder)!r}"
    database = folder / _CATALOG_FILE
    with catalog_errors(f"open {subject}: {_CATALOG_FILE}", Secrets.of(config.properties)):
        _check_file(database, subject, create=create)
        properties = {
            **config.properties,
            "uri": sqlite_uri(database),
            "warehouse": f"file://{folder}",
        }
        if may_only_read(database):
            catalog: SqlCatalog = _read_only(CATALOG_NAME, properties, create=create)
        else:
            catalog = first_use(partial(SqlCatalog, CATALOG_NAME, **properties))
            harden(catalog)
    return catalog


def _read_only(
    name: str, properties: Mapping[str, str], *, create: bool = False
) -> ReadOnlySqlCatalog:
    database = database_of(properties["uri"])
    catalog = ReadOnlySqlCatalog(name, database=database, **properties)
    if create:
        check_writable(catalog)
    return catalog


def _check_file(database: Path, subject: str, *, create: bool) -> None:
    if create:
        database.parent.mkdir(parents=True, exist_ok=True)
    elif not database.is_file():
        raise NotFoundError(
            f"{subject}: there is no {str(database)!r}; name an existing warehouse, or create a "
            "table in this one first"
        )


def _use_file_uri(catalog: SqlCatalog) -> None:
    """Spell a local warehouse as the embedded catalog does; a URI of another scheme stays."""
    warehouse = catalog.properties.get("warehouse", "")
    if re.match(r"file:/(?!/)", warehouse):
        catalog.properties["warehouse"] = f"file://{warehouse[len('file:') :]}"
    elif warehouse and not re.match(r"[A-Za-z][\w+.-]*:", warehouse):
        catalog.properties["warehouse"] = f"file://{_local_folder(warehouse)}"
