"""Change stores whose base store is gone: what a drop that stopped half way leaves behind.

They hold changes of a table that was dropped on purpose, so they are removed from the catalog,
never adopted: their rows would come back to life in the next table of that name.
"""

from __future__ import annotations

import contextlib
import logging

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from arctic.errors import AlreadyExistsError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.listing import namespaces, table_identifiers
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.translate import catalog_errors
from arctic.table.property_names import BASE_UUID, CHANGE_IDENTIFIER, CHANGE_MOVES_TO

_log = logging.getLogger(__name__)


def check_is_leftover(
    catalog: Catalog, identifier: tuple[str, ...], *, of: tuple[str, ...] | None = None
) -> Table | None:
    """Return the change store that stands at a name without a base store, or None.

    Args:
        catalog: holds both.
        identifier: of the change store.
        of: the table that is about to be created with this change store. It may appear
            meanwhile, made by another process: no reason to refuse, its creator is then asked for.

    Raises:
        AlreadyExistsError: another kind of table has the name, or another base store uses it.
    """
    name = ".".join(identifier)
    change = load_table(catalog, identifier)
    if change is None:
        return None
    if store_of(change.properties) != "change":
        raise AlreadyExistsError(
            f"table {name!r} already exists, and is where the change store would be; rename it"
        )
    # In every namespace: a rename into another one gives the two stores their names in turn.
    for other in (
        each for parts in namespaces(catalog) for each in table_identifiers(catalog, parts)
    ):
        base = None if other == of else load_table(catalog, other)
        if base is not None and _uses(base, change, name):
            raise AlreadyExistsError(
                f"table {name!r} already exists as the change store of {'.'.join(other)!r}; choose "
                "another name"
            )
    return change


def _uses(base: Table, change: Table, name: str) -> bool:
    if str(base.metadata.table_uuid) == change.properties.get(BASE_UUID):
        return True
    return name in (base.properties.get(CHANGE_IDENTIFIER), base.properties.get(CHANGE_MOVES_TO))


def drop_leftover(catalog: Catalog, change: Table) -> None:
    """Remove a change store without base from the catalog; its files stay.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    name = ".".join(change.name())
    _log.warning("dropping change store %r: its base store is gone", name)
    with catalog_errors(f"drop table {name!r}"), contextlib.suppress(NoSuchTableError):
        catalog.drop_table(change.name())
