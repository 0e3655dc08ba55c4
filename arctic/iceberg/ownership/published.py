"""Tables that show the merged view of a pair, and the files of the pair that they refer to.

Rules:
    - A published table names its base store by UUID, so it is found under any name of either; base
      names it too, so one whose metadata cannot be read is not overlooked, and a base store that
      names none has none.
    - The pair keeps what the snapshots of its published tables refer to. Its files are never theirs
      to delete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.ownership.known_tables import KnownTable, known_tables, paths_of
from arctic.table.property_names import PUBLISHED_OF, PUBLISHED_PREFIX


def published_names(base: Table) -> tuple[str, ...]:
    """Return the names under which tables of a base store's view were made, sorted."""
    names = (name for name in base.properties if name.startswith(PUBLISHED_PREFIX))
    return tuple(sorted(name.removeprefix(PUBLISHED_PREFIX) for name in names))


def shows(published: Table, base: Table) -> bool:
    """Say whether a table shows the merged view of this base store."""
    return published.properties.get(PUBLISHED_OF) == str(base.metadata.table_uuid)


def published_paths(base: Table, known: Iterable[KnownTable]) -> frozenset[str]:
    """Return what the published tables of a base store refer to, normalised.

    Args:
        base: just loaded.
        known: all tables of the catalog, loaded afterwards.

    Raises:
        StorageError: one of them cannot be read.
        FormatError: one of them cannot be parsed.
    """
    uuid, names = str(base.metadata.table_uuid), published_names(base)
    return frozenset[str]().union(
        *(
            paths_of(base.catalog, table.metadata_location, name=table.name)
            for table in known
            if table.published_of == uuid
            or (table.catalog == base.catalog.name and table.name in names)
        )
    )


def shown_as(catalog: Catalog, base: Table) -> Iterator[str]:
    """Yield the names of the tables that show a base store; those that it names come first.

    The others were renamed by somebody else since: every table of the catalog is asked for them.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    found = set()
    for name in published_names(base):
        published = load_table(catalog, tuple(name.split(".")))
        if published is not None and shows(published, base):
            found.add(name)
            yield name
    for table in known_tables(catalog):
        if table.published_of == str(base.metadata.table_uuid) and table.name not in found:
            yield table.name


def shown_by(base: Table, known: Iterable[KnownTable]) -> str | None:
    """Say which of all tables of the catalog shows rows of a base store's files."""
    uuid = str(base.metadata.table_uuid)
    names = (table.name for table in known if table.published_of == uuid)
    return next((f"table {name!r} shows rows of it" for name in names), None)


def check_unpublished(catalog: Catalog, base: Table) -> None:
    """Refuse to take a table away whose rows another one shows.

    Raises:
        InvalidInputError: naming it.
        StorageError: the catalog cannot be reached.
    """
    if not published_names(base):
        return
    for name in shown_as(catalog, base):
        table = ".".join(base.name())
        raise InvalidInputError(
            f"table {table!r} is published as {name!r}, which shows rows of its files; end that "
            f"first: arctic.unpublish({table!r})"
        )
