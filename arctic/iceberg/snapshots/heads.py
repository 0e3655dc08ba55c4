"""Which metadata each table of a catalog has now, by one load of each store.

Rules:
    - A catalog that is a database says in one query which stores have the metadata that was seen
      before: those are not loaded.
    - A store that cannot be loaded keeps nobody else from being looked at.
    - Stores are paired by what base says of its change store. One that is moving just now is paired
      by a later look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from pyiceberg.catalog import Catalog

from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.listing import metadata_places, namespaces, table_identifiers
from arctic.iceberg.catalogs.pair import store_of
from arctic.table.property_names import CHANGE_IDENTIFIER

_AHEAD = 4
"""Loads that wait for each thread, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """One table, as its catalog names it now."""

    name: str
    places: tuple[str, ...]
    """Of the metadata of base, and of change where it has one: nothing changed while they stay."""
    properties: Mapping[str, str] = field(repr=False)
    """Of base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogHeads:
    """All of a catalog's tables."""

    tables: tuple[TableHead, ...]
    """Sorted by name."""
    broken: Mapping[str, Exception]
    """Stores that cannot be loaded."""
    stores: Mapping[str, StoreHead] = field(default_factory=dict, repr=False)
    """Base and change stores by name, for the next look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHead:
    """One store, as its catalog names it now."""

    place: str
    kind: str
    """``base`` or ``change``."""
    properties: Mapping[str, str] = field(repr=False)


def _unheard() -> None:
    """Tell nobody."""


def catalog_heads(
    config: CatalogConfig,
    *,
    threads: int,
    before: CatalogHeads | None = None,
    heard: Callable[[], None] = _unheard,
) -> CatalogHeads:
    """Look at every table of a catalog.

    Args:
        config: the catalog.
        threads: that load at a time.
        before: what the last look saw.
        heard: is called whenever the catalog has told of some stores, or of one.

    Raises:
        NotFoundError: no such warehouse.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    found = (each for parts in namespaces(catalog) for each in table_identifiers(catalog, parts))
    stores = {} if before is None else _unchanged(catalog, before.stores)
    broken: dict[str, Exception] = {}
    seen: dict[str, StoreHead] = {}
    with ThreadPoolExecutor(threads) as pool:
        while batch := list(islice(found, threads * _AHEAD)):
            heard()
            names = [".".join(parts) for parts in batch]
            seen |= {name: stores[name] for name in names if name in stores}
            left = [parts for parts in batch if ".".join(parts) not in stores]
            loaded = pool.map(lambda each: _load(catalog, each), left)
            for parts, store in zip(left, loaded, strict=True):
                heard()
                name = ".".join(parts)
                if isinstance(store, Exception):
                    broken[name] = store
                elif store is not None:
                    seen[name] = store
    return CatalogHeads(
        tables=tuple(
            TableHead(name=name, places=_places(store, seen), properties=store.properties)
            for name, store in sorted(seen.items())
            if store.kind == "base"
        ),
        broken=broken,
        stores=seen,
    )


def table_heads(config: CatalogConfig, names: Iterable[str]) -> CatalogHeads:
    """Look at some tables; those that are not there are left out.

    Raises:
        NotFoundError: no such warehouse.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    broken: dict[str, Exception] = {}
    tables = []
    for name in sorted(names):
        base = _load(catalog, tuple(name.split(".")))
        if isinstance(base, Exception):
            broken[name] = base
        elif base is not None and base.kind == "base":
            other = base.properties.get(CHANGE_IDENTIFIER)
            change = None if other is None else _load(catalog, tuple(other.split(".")))
            stores = {other: change} if other and isinstance(change, StoreHead) else {}
            tables.append(
                TableHead(name=name, places=_places(base, stores), properties=base.properties)
            )
    return CatalogHeads(tables=tuple(tables), broken=broken)


def _unchanged(catalog: Catalog, stores: Mapping[str, StoreHead]) -> dict[str, StoreHead]:
    """Return the stores whose metadata is where it was, as far as one query tells."""
    return {
        name: stores[name]
        for name, place in metadata_places(catalog).items()
        if name in stores and stores[name].place == place
    }


def _places(base: StoreHead, stores: Mapping[str, StoreHead]) -> tuple[str, ...]:
    change = stores.get(base.properties.get(CHANGE_IDENTIFIER, ""))
    return (base.place,) if change is None else (base.place, change.place)


def _load(catalog: Catalog, parts: tuple[str, ...]) -> StoreHead | Exception | None:
    try:
        table = load_table(catalog, parts)
    except Exception as error:  # noqa: BLE001 - whatever is in it must not hide the other tables
        return error
    kind = None if table is None else store_of(table.properties)
    if table is None or kind is None:
        return None
    return StoreHead(place=table.metadata_location, kind=kind, properties=dict(table.properties))
