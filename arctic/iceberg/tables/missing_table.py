"""Stores by name, and what to do where there is none: wait if it is coming, or name the nearest.

Rules:
    - Between two renames nobody has the name of a table that another one replaces. Whoever asks for
      it then waits: it is a moment, unless the process that replaces it has died.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.listing import namespaces
from arctic.iceberg.catalogs.listing import table_identifiers as identifiers
from arctic.iceberg.catalogs.sqlite import file_of
from arctic.iceberg.values.names import CHANGE_SUFFIX
from arctic.retry import RetryPolicy

REPLACED = "__replaced_"
"""Between the name of a table and the digits of the one that it is given when another takes it."""
_ASIDE = re.compile(rf".+(?:__staged_|{REPLACED})[0-9a-f]{{8}}")
_PATIENCE = RetryPolicy(retries=1_000, min_wait_ms=100, max_wait_ms=100, total_ms=3_000)
"""The renames of a table with a key take some twenty requests of a catalog."""


def is_aside(name: str) -> bool:
    """Say whether a name is that of a table which takes the place of another, or gave it.

    >>> is_aside("users__staged_0123abcd"), is_aside("users")
    (True, False)
    """
    return _ASIDE.fullmatch(name) is not None


def traces_of(names: Iterable[str], identifier: str) -> list[str]:
    """Return the names that tables have while one is replaced, or where that was interrupted.

    >>> traces_of(["a.t__replaced_0123abcd", "a.tt__staged_0123abcd", "a.u"], "a.t")
    ['a.t__replaced_0123abcd']
    """
    return [name for name in names if is_aside(name) and name.rpartition("__")[0] == identifier]


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


def existing_store(catalog: Catalog, parts: tuple[str, ...], *, suggests: bool = True) -> Table:
    """Load a store; one that is being replaced is waited for.

    Args:
        catalog: holds it.
        parts: its name.
        suggests: where there is none, look which other names there are.

    Raises:
        NotFoundError: there is none of this name.
        StorageError: the catalog or the metadata cannot be reached.
    """
    found = load_table(catalog, parts)
    if found is None and suggests:
        found = returned_store(catalog, parts)
    if found is None:
        raise not_found(catalog, parts, suggests=suggests)
    return found


def returned_store(catalog: Catalog, parts: tuple[str, ...]) -> Table | None:
    """Return a store whose name was free, as it is while its table is replaced; None: it stays so.

    Raises:
        StorageError: the catalog or the metadata cannot be reached.
    """
    found: Table | None = None
    for _ in _PATIENCE.tries():
        # Asked before the store is: afterwards what took the name may have come meanwhile.
        is_coming = _is_being_replaced(catalog, parts)
        found = load_table(catalog, parts)
        if found is not None or not is_coming:
            return found
    return found


def _is_being_replaced(catalog: Catalog, parts: tuple[str, ...]) -> bool:
    try:
        names = [".".join(found) for found in identifiers(catalog, parts[:-1])]
    except (StorageError, NotFoundError):
        return False
    return any(REPLACED in name for name in traces_of(names, ".".join(parts)))


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
    near = difflib.get_close_matches(name, tables, n=3)
    if near:
        return f"; did you mean {', '.join(near)}?"
    there = f"holds {', '.join(tables[:5])}" if tables else "is empty"
    return f"; namespace {namespace!r} {there}"
