"""Tables that refer to files of one another since one was cloned from another.

Rules:
    - A store of a clone names by UUID every store whose files it may refer to: those of its source,
      and what these name themselves. So it is found under any name, also where the tables between
      the two are gone, and two clones of one table know of each other.
    - What is published of one of them shows the same files.
    - Base says that it was cloned before its first clone is made. Then a table whose metadata
      cannot be read may be a clone, and nobody knows which files it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import InvalidInputError, StorageError
from arctic.iceberg.ownership.known_tables import KnownTable, known_tables, paths_of, sources_of
from arctic.options import MAY_DELETE
from arctic.table.property_names import CLONE_OF, CLONED


def may_delete(properties: Mapping[str, str]) -> bool:
    """Say whether files of a store may be deleted; those of a clone are told from its source's.

    A clone forbids it to other engines, which know nothing of its source.
    """
    return CLONE_OF in properties or bool(MAY_DELETE.value({}, properties))


def related_paths(stores: Sequence[Table], known: Iterable[KnownTable]) -> frozenset[str]:
    """Return what other tables refer to that may share files with these stores, normalised.

    Args:
        stores: of one table, loaded after ``known``, base first.
        known: all tables of the catalog.

    Raises:
        StorageError: a table cannot be read that may be one of them.
        FormatError: one of them cannot be parsed.
    """
    if not any(name in store.properties for store in stores for name in (CLONED, CLONE_OF)):
        return frozenset()
    catalog = stores[0].catalog
    return frozenset[str]().union(
        *(
            paths_of(catalog, table.metadata_location, name=table.name)
            for table in _related(stores, known)
        )
    )


def check_uncloned(catalog: Catalog, stores: Sequence[Table]) -> None:
    """Refuse to release a table whose files a clone refers to.

    Args:
        catalog: holds the stores.
        stores: of one table, base first.

    Raises:
        InvalidInputError: naming a clone.
        StorageError: the catalog cannot be reached.
    """
    reason = cloned_by(stores, known_tables(catalog))
    if reason is not None:
        raise InvalidInputError(f"release of {'.'.join(stores[0].name())!r}: {reason}")


def cloned_by(stores: Sequence[Table], known: Iterable[KnownTable]) -> str | None:
    """Say which table of the catalog refers to files of these stores, as a clone."""
    uuids = _uuids(stores)
    was_cloned = any(CLONED in store.properties for store in stores)
    for table in known:
        if table.clone_of & uuids:
            return f"table {table.name!r} was cloned from it, and refers to its files"
        if was_cloned and table.uuid is None:
            return f"table {table.name!r} cannot be read, and may be a clone of it"
    return None


def _related(stores: Sequence[Table], known: Iterable[KnownTable]) -> Iterator[KnownTable]:
    own = {(store.catalog.name, ".".join(store.name())) for store in stores}
    others = [table for table in known if (table.catalog, table.name) not in own]
    for table in others:
        if table.uuid is None:
            raise StorageError(f"table {table.name!r} cannot be read, and may be a clone")
    family = _uuids(stores).union(*(sources_of(store.properties) for store in stores))
    while others:
        found = [table for table in others if _ids(table) & family]
        if not found:
            return
        yield from found
        family = family.union(*map(_ids, found))
        others = [table for table in others if table not in found]


def _ids(table: KnownTable) -> frozenset[str]:
    return table.clone_of | frozenset(filter(None, (table.uuid, table.published_of)))


def _uuids(stores: Sequence[Table]) -> frozenset[str]:
    return frozenset(str(store.metadata.table_uuid) for store in stores)
