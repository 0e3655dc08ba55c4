"""Stores by name, and what to say of one that is not there: which names come near."""

from __future__ import annotations

import difflib

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.listing import namespaces
from arctic.iceberg.catalogs.listing import table_identifiers as identifiers
from arctic.iceberg.catalogs.sqlite import file_of
from arctic.iceberg.values.names import CHANGE_SUFFIX


def not_found(catalog: Catalog, parts: tuple[str, ...], *, suggests: bool = True) -> NotFoundError:
    """Return the error for a missing table, with the names that come near if they are wanted."""
    try:
        hint = _near(catalog, parts) if suggests else ""
    except (StorageError, NotFoundError):
        # A catalog may let us load a table but not list any.
        hint = ""
    where = file_of(catalog)
    looked = f"; looked{where}" if where else ""
    return NotFoundError(f"table {'.'.join(parts)!r} not found{hint}{looked}")


def existing_store(catalog: Catalog, parts: tuple[str, ...]) -> Table:
    """Load a store.

    Raises:
        NotFoundError: there is none of this name.
        StorageError: the catalog or the metadata cannot be reached.
    """
    found = load_table(catalog, parts)
    if found is None:
        raise not_found(catalog, parts)
    return found


def _near(catalog: Catalog, parts: tuple[str, ...]) -> str:
    name = ".".join(parts)
    known = [".".join(found) for found in namespaces(catalog)]
    namespace = ".".join(parts[:-1])
    if namespace not in known:
        near = difflib.get_close_matches(namespace, known, n=3) or known[:5]
        there = f"namespaces: {', '.join(near)}" if near else "the catalog is empty"
        return f": no namespace {namespace!r}; {there}"
    tables = [
        ".".join(found)
        for found in identifiers(catalog, parts[:-1])
        if found != parts and not found[-1].endswith(CHANGE_SUFFIX)
    ]
    near = difflib.get_close_matches(name, tables, n=3) or tables[:5]
    return f"; did you mean {', '.join(near)}?" if near else f"; namespace {namespace!r} is empty"
