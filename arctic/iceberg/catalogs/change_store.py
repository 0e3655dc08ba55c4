"""Where the change store of a table is, also while the table is being made or renamed.

Rules:
    - Whether a table had no key when this process saw it last is a guess that saves one question to
      the catalog. Base says what the table is, each time; where it has a key after all, its change
      store is loaded, and base once more.
    - Of a table that this process has never seen, and that is far away, the metadata of both stores
      is fetched at once. Base counts as it is when the catalog is asked after that for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pyiceberg.catalog import WAREHOUSE_LOCATION, Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from arctic.errors import ArcticError, FormatError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table
from arctic.iceberg.catalogs.pair import belongs_to, change_identifier_of, primary_key_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.catalogs.sqlite import file_of
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.local_files import is_local
from arctic.last_used import LastUsed
from arctic.retry import RetryPolicy
from arctic.table.property_names import CHANGE_MOVES_TO

_CREATOR_PATIENCE = RetryPolicy(retries=1_000, min_wait_ms=100, max_wait_ms=100, total_ms=3_000)
_ONE_LOOK = RetryPolicy(retries=0)

_MOST_NAMES = 10_000
_Name = tuple[str | None, ...]

SEEN: LastUsed[_Name, bool] = LastUsed()
"""Tables that this process has opened, and whether they had a key."""


def find_change(catalog: Catalog, base: Table, *, name: str) -> list[Table]:
    """Return the change store of a base store in a list; an empty one if it has none, or lost it.

    Where it is not found, base is loaded again: the table may have been renamed meanwhile.

    Raises:
        FormatError: the base store does not say where it is.
        NotFoundError: the base store was dropped or renamed meanwhile.
        StorageError: the catalog cannot be reached.
    """
    if not primary_key_of(base.properties):
        return []
    identifiers = _identifiers(base, name=name)
    found = _first(catalog, base, identifiers)
    if found:
        return found
    refresh(base)
    now = _identifiers(base, name=name)
    return [] if now == identifiers else _first(catalog, base, now)


def _first(catalog: Catalog, base: Table, identifiers: Sequence[tuple[str, ...]]) -> list[Table]:
    for identifier in identifiers:
        change = load_table(catalog, identifier)
        if change is not None and belongs_to(change, base):
            return [change]
    return []


def _identifiers(base: Table, *, name: str) -> list[tuple[str, ...]]:
    place = change_identifier_of(base.properties, table_name=name)
    moving = base.properties.get(CHANGE_MOVES_TO)
    return [place, tuple(moving.split("."))] if moving else [place]


def had_key(config: CatalogConfig, parts: tuple[str, ...]) -> bool | None:
    """Say whether a table had a key when it was opened last; None: it never was."""
    return SEEN.get(_name(config, parts))


def note_key(config: CatalogConfig, parts: tuple[str, ...], *, is_keyed: bool) -> None:
    """Remember whether a table that was opened has a key."""
    SEEN.put(_name(config, parts), is_keyed, weight=1, most=_MOST_NAMES)


def _name(config: CatalogConfig, parts: tuple[str, ...]) -> _Name:
    return (config.name, config.warehouse, config.properties.get("uri"), *parts)


def usual_change(
    catalog: Catalog, identifier: tuple[str, ...], *, beside: tuple[str, ...] | None = None
) -> Table | None:
    """Load what is most likely the change store of a table, before its base store is loaded.

    Whatever is wrong with it is told where base says that it is the one.

    Args:
        catalog: holds it.
        identifier: its name.
        beside: the name of the base store, if its metadata is to be fetched meanwhile.
    """
    coming = None
    # Other catalogs hand out metadata by themselves, or are not for several threads.
    if beside is not None and isinstance(catalog, SqlCatalog) and _is_far(catalog):
        coming = far_threads().submit(load_table, catalog, beside)
    change = None
    with contextlib.suppress(ArcticError):
        change = load_table(catalog, identifier)
    if coming is not None and not coming.cancel():
        coming.exception()  # whatever it is, who loads base next is told
    return change


def _is_far(catalog: Catalog) -> bool:
    return not is_local(catalog.properties.get(WAREHOUSE_LOCATION, "/"))


def is_change_of(change: Table, base: Table, name: str) -> bool:
    """Say whether a store is the change store of a base store, in the place that this one says."""
    return tuple(change.name()) == change_identifier_of(
        base.properties, table_name=name
    ) and belongs_to(change, base)


class HalfMadeError(FormatError):
    """A table without its change store, whose creation was interrupted: base never had a row."""

    properties: Mapping[str, str] = MappingProxyType({})
    """Of the base store."""


def load_change(catalog: Catalog, base: Table, name: str) -> Table:
    """Load the change store of a table with a key, wherever base says that it is.

    Raises:
        HalfMadeError: there is none, and base never had rows.
        FormatError: there is none any more, or that of an earlier table.
        StorageError: the catalog cannot be reached.
    """
    identifier = change_identifier_of(base.properties, table_name=name)
    subject = f"table {name!r}: change store {'.'.join(identifier)!r}{file_of(catalog)}"
    found = find_change(catalog, base, name=name)
    change = found[0] if found else wait_for_creator(catalog, base, identifier)
    if change is None:
        if not base.metadata.snapshots:
            error = HalfMadeError(
                f"{subject} does not exist: its creation was interrupted; create the table again "
                "to complete it"
            )
            error.properties = base.properties
            raise error
        raise FormatError(
            f"{subject} does not exist: its change files are lost to the catalog; register the "
            "change store again"
        )
    if not belongs_to(change, base):
        raise FormatError(
            f"{subject} is that of an earlier table; drop the table and create it again"
        )
    return change


def wait_for_creator(catalog: Catalog, base: Table, identifier: tuple[str, ...]) -> Table | None:
    """Load a change store, and give whoever is creating it the time to finish.

    Returns:
        What stands at ``identifier`` then: the change store, that of an earlier table, or None. A
        base store with snapshots is not being created, so nothing is waited for.
    """
    change = None
    for _ in (_ONE_LOOK if base.metadata.snapshots else _CREATOR_PATIENCE).tries():
        change = load_table(catalog, identifier)
        if change is not None and belongs_to(change, base):
            break
    return change
