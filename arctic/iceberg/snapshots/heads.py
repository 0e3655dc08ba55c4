"""Which metadata each table of a catalog has now, by one load of each store.

Rules:
    - A catalog that is a database says in one query which stores have the metadata that was seen
      before: those are not loaded.
    - A store that cannot be loaded, or whose storage hangs, keeps nobody else from being looked at;
      nor does a namespace that the catalog refuses to list. What was seen in it is not gone.
    - Stores are paired by what base says of its change store. One that is moving just now is paired
      by a later look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from pyiceberg.catalog import Catalog

from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.listing import metadata_places, namespaces, table_identifiers
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.translate import is_refused
from arctic.patient_calls import PatientCalls
from arctic.table.property_names import CHANGE_IDENTIFIER

Parts = tuple[str, ...]
_STORE_SECONDS = 60.0
"""How long a store is waited for."""


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
    """Stores that cannot be loaded, tables of namespaces that are refused, and those namespaces."""
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


def loads_of(*, threads: int) -> PatientCalls[Parts, StoreHead | None]:
    """Return what loads stores, so many at a time; one that hangs is not loaded once more."""
    return PatientCalls(threads=threads, seconds=_STORE_SECONDS)


def catalog_heads(
    config: CatalogConfig,
    *,
    loads: PatientCalls[Parts, StoreHead | None],
    before: CatalogHeads | None = None,
    heard: Callable[[], None] = _unheard,
) -> CatalogHeads:
    """Look at every table of a catalog.

    Args:
        config: the catalog.
        loads: what loads the stores.
        before: what the last look saw.
        heard: is called whenever the catalog has told of a store.

    Raises:
        NotFoundError: no such warehouse.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    known_before = {} if before is None else before.stores
    unchanged = _unchanged(catalog, known_before) if known_before else {}
    seen: dict[str, StoreHead] = {}
    refused: dict[Parts, StorageError] = {}

    def changed() -> Iterator[Parts]:
        for space in namespaces(catalog, refused=refused):
            for parts in _tables_of(catalog, space, refused):
                heard()
                known = unchanged.get(".".join(parts))
                if known is None:
                    yield parts
                else:
                    seen[".".join(parts)] = known

    found, broken = _loaded(loads, catalog, changed(), heard)
    seen |= found
    kept: dict[str, StoreHead] = {}
    for space, error in refused.items():
        within = ".".join(space)
        hidden = {
            name: store
            for name, store in known_before.items()
            if name.startswith(f"{within}.") and name not in seen
        }
        kept |= hidden
        broken |= {name: error for name, store in hidden.items() if store.kind == "base"}
        broken[within] = error
    return CatalogHeads(
        tables=tuple(
            TableHead(name=name, places=_places(store, seen), properties=store.properties)
            for name, store in sorted(seen.items())
            if store.kind == "base"
        ),
        broken=broken,
        stores=kept | seen,
    )


def table_heads(
    config: CatalogConfig, names: Iterable[str], *, loads: PatientCalls[Parts, StoreHead | None]
) -> CatalogHeads:
    """Look at some tables; those that are not there are left out.

    Args:
        config: the catalog.
        names: of the tables.
        loads: what loads the stores.

    Raises:
        NotFoundError: no such warehouse.
        StorageError: the catalog cannot be reached.
    """
    catalog = open_catalog(config)
    stores, broken = _loaded(loads, catalog, (tuple(each.split(".")) for each in sorted(names)))
    bases = {name: store for name, store in sorted(stores.items()) if store.kind == "base"}
    others = {store.properties.get(CHANGE_IDENTIFIER) for store in bases.values()} - {None}
    changes, _ = _loaded(loads, catalog, (tuple(str(each).split(".")) for each in others))
    return CatalogHeads(
        tables=tuple(
            TableHead(name=name, places=_places(base, changes), properties=base.properties)
            for name, base in bases.items()
        ),
        broken=broken,
    )


def _loaded(
    loads: PatientCalls[Parts, StoreHead | None],
    catalog: Catalog,
    stores: Iterable[Parts],
    heard: Callable[[], None] = _unheard,
) -> tuple[dict[str, StoreHead], dict[str, Exception]]:
    """Load some stores, and return those that are Arctic's, and why others cannot be loaded."""
    found: dict[str, StoreHead] = {}
    broken: dict[str, Exception] = {}
    for parts, store in loads.run(partial(_load, catalog), stores):
        heard()
        if isinstance(store, Exception):
            broken[".".join(parts)] = store
        elif store is not None:
            found[".".join(parts)] = store
    return found, broken


def _tables_of(catalog: Catalog, space: Parts, refused: dict[Parts, StorageError]) -> list[Parts]:
    """Return the tables of a namespace; none of one that was dropped since, or is refused."""
    try:
        return table_identifiers(catalog, space)
    except NotFoundError:
        return []
    except StorageError as error:
        if not is_refused(error):
            raise
        refused[space] = error
        return []


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


def _load(catalog: Catalog, parts: Parts) -> StoreHead | None:
    table = load_table(catalog, parts)
    kind = None if table is None else store_of(table.properties)
    if table is None or kind is None:
        return None
    return StoreHead(place=table.metadata_location, kind=kind, properties=dict(table.properties))
