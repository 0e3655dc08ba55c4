"""Namespaces, each by its parts: which there are, what is known of one, made and removed.

Must not know: what is in a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
)

from arctic.errors import AlreadyExistsError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig, create_namespace, open_catalog
from arctic.iceberg.catalogs.listing import table_identifiers
from arctic.iceberg.catalogs.sqlite import first_use
from arctic.iceberg.translate import catalog_errors

Parts = tuple[str, ...]


def child_namespaces(config: CatalogConfig, parent: Parts) -> tuple[Parts, ...]:
    """Return the namespaces right inside one, sorted; those at the top inside ``()``.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    with catalog_errors("list namespaces"):
        if parent and not catalog.namespace_exists(parent):
            raise _missing(parent)
        return tuple(sorted(catalog.list_namespaces(parent)))


def namespace_properties(config: CatalogConfig, namespace: Parts) -> dict[str, str]:
    """Return what a namespace says of itself.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    with catalog_errors(f"load namespace {'.'.join(namespace)!r}"):
        try:
            return dict(catalog.load_namespace_properties(namespace))
        except NoSuchNamespaceError as error:
            raise _missing(namespace) from error


def make_namespace(config: CatalogConfig, namespace: Parts, properties: Mapping[str, str]) -> None:
    """Make a namespace, and those that it lies in where they are missing.

    Raises:
        AlreadyExistsError: there is one of this name.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config, create=True)
    create_namespace(catalog, namespace[:-1])
    with catalog_errors(f"create namespace {'.'.join(namespace)!r}"):
        try:
            first_use(partial(catalog.create_namespace, namespace, dict(properties)))
        except NamespaceAlreadyExistsError as error:
            raise AlreadyExistsError(f"namespace {'.'.join(namespace)!r} already exists") from error


def change_namespace(
    config: CatalogConfig, namespace: Parts, wanted: Mapping[str, str], removed: Iterable[str]
) -> None:
    """Set and remove properties of a namespace.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    with catalog_errors(f"change namespace {'.'.join(namespace)!r}"):
        try:
            catalog.update_namespace_properties(namespace, set(removed), dict(wanted))
        except NoSuchNamespaceError as error:
            raise _missing(namespace) from error


def held_by(config: CatalogConfig, namespace: Parts) -> tuple[Parts, ...]:
    """Return the tables, Arctic's or not, and the namespaces that are in one.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached.
    """
    tables = table_identifiers(open_catalog(config), namespace)
    return (*tables, *child_namespaces(config, namespace))


def drop_namespace(config: CatalogConfig, namespace: Parts) -> None:
    """Remove a namespace that holds nothing.

    Raises:
        NotFoundError: no such warehouse or namespace.
        StorageError: the catalog cannot be reached, or it holds something.
    """
    catalog = open_catalog(config)
    with catalog_errors(f"drop namespace {'.'.join(namespace)!r}"):
        try:
            catalog.drop_namespace(namespace)
        except NoSuchNamespaceError as error:
            raise _missing(namespace) from error


def _missing(namespace: Parts) -> NotFoundError:
    return NotFoundError(f"namespace {'.'.join(namespace)!r} does not exist")
