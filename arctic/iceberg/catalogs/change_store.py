"""Where the change store of a table is, also while the table is being renamed."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.pair import belongs_to, change_identifier_of, primary_key_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.table.property_names import CHANGE_MOVES_TO


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
