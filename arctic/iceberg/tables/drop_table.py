"""Dropping a table: base first, change second, files last.

So what is left of a drop that stopped half way can neither be read nor be taken for a table, and
dropping again finishes it. In a database both stores leave in one transaction.

A name may be that of another table by the time that it is dropped: somebody else has dropped this
one, and the table was made anew. So a store is dropped only as the one that it was seen to be. A
catalog that drops whatever has a name is asked right before.

Source: amoro MixedTables.dropTableByMeta @96a4d781a. Differs: a failure to drop change is raised.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table

from arctic.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.change_store import find_change
from arctic.iceberg.catalogs.in_database.leave_catalog import leave_catalog
from arctic.iceberg.catalogs.leftover import check_is_leftover
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.ownership.clones import cloned_by
from arctic.iceberg.ownership.folders import (
    folders_of,
    is_a_tables,
    own_files,
    shared_by,
)
from arctic.iceberg.ownership.known_tables import known_tables
from arctic.iceberg.ownership.left_files import check_none_left
from arctic.iceberg.ownership.published import check_unpublished, shown_by
from arctic.iceberg.ownership.strangers import strangers
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.check_stores import check_is_base
from arctic.iceberg.tables.missing_table import not_found
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.names import change_identifier, parse_identifier
from arctic.retry import SMALL_RACES
from arctic.table.property_names import CHANGE_IDENTIFIER

_log = logging.getLogger(__name__)


def drop_table(config: CatalogConfig, identifier: str, *, purge: bool = False) -> None:
    """Drop a table, or finish a drop that was interrupted.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        purge: also delete the ``data`` and ``metadata`` folders of both stores.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: the name of a change store, or a table that another one shows; with
            ``purge``, one that was cloned, or a place that another table shares, of any namespace
            or, as far as its metadata lies there, of another catalog.
        UnsupportedError: an Iceberg table that is not Arctic's.
        ConflictError: others were committing to it and it was not dropped; or, with ``purge``,
            they renamed or registered it meanwhile.
        StorageError: the catalog cannot be reached; or the table is gone, and the error says which
            of its files have stayed.
    """
    parts = parse_identifier(identifier)
    catalog = open_catalog(config)
    check_writable(catalog)
    stores = _stores(catalog, parts)
    check_unpublished(catalog, stores[0])
    if purge:
        _check_alone(catalog, stores)
    if isinstance(catalog, SqlCatalog):
        _drop_at_once(catalog, parts, stores)
    else:
        for store in stores:
            _drop_as_seen(catalog, store)
    if purge:
        known = known_tables(catalog)
        kept_by = shared_by(stores, known) or shown_by(stores[0], known) or cloned_by(stores, known)
        if kept_by is not None:
            raise ConflictError(
                f"purge of {'.'.join(parts)!r}: {kept_by}, by others meanwhile; the files stay"
            )
        _purge(".".join(parts), stores)


def _stores(catalog: Catalog, parts: tuple[str, ...]) -> list[Table]:
    base = load_table(catalog, parts)
    if base is None:
        try:
            leftover = check_is_leftover(catalog, change_identifier(parts))
        except AlreadyExistsError:
            leftover = None
        if leftover is None:
            raise not_found(catalog, parts)
        return [leftover]
    check_is_base(base, parts)
    if not base.properties.get(CHANGE_IDENTIFIER):
        return [base]
    return [base, *find_change(catalog, base, name=".".join(parts))]


def _drop_at_once(catalog: SqlCatalog, parts: tuple[str, ...], stores: list[Table]) -> None:
    """Drop all stores, whatever others commit to them meanwhile; one that is gone is no failure."""
    seen = {store.metadata.table_uuid for store in stores}
    for retry in SMALL_RACES.tries():
        if retry:
            stores = [each for each in _there(catalog, parts) if each.metadata.table_uuid in seen]
        with catalog_errors(f"drop table {'.'.join(parts)!r}"):
            try:
                return leave_catalog(catalog, stores)
            except CommitFailedException as error:
                outrun = error
    raise ConflictError(
        f"table {'.'.join(parts)!r}: others were committing to it and it was not dropped; drop it "
        f"again ({outrun})"
    ) from outrun


def _there(catalog: Catalog, parts: tuple[str, ...]) -> list[Table]:
    try:
        return _stores(catalog, parts)
    except NotFoundError:
        return []


def _drop_as_seen(catalog: Catalog, store: Table) -> None:
    """Drop a store by its name, if that still is its name."""
    now = load_table(catalog, store.name())
    if now is None or now.metadata.table_uuid != store.metadata.table_uuid:
        return
    name = ".".join(store.name())
    with catalog_errors(f"drop table {name!r}"), contextlib.suppress(NoSuchTableError):
        catalog.drop_table(store.name())


def _check_alone(catalog: Catalog, stores: list[Table]) -> None:
    """Refuse to delete files in a place that another table lives in, as far as anybody can tell."""
    known = known_tables(catalog)
    reason = shared_by(stores, known) or cloned_by(stores, known)
    reason = reason or next(_strange_metadata(stores), None)
    if reason is not None:
        raise InvalidInputError(
            f"purge of {'.'.join(stores[0].name())!r}: {reason}; drop without purge"
        )


def _strange_metadata(stores: list[Table]) -> Iterator[str]:
    for store in stores:
        with suppress(UnsupportedError):  # a store that cannot be listed is refused later
            for stranger in strangers(store, own_files(store)):
                yield stranger.reason


def _purge(name: str, stores: list[Table]) -> None:
    left: list[str] = []
    causes: list[StorageError] = []
    for store in stores:
        for place in folders_of(store):
            try:
                left += _delete_what_tables_make(store, place)
            except StorageError as error:  # noqa: PERF203 - the others may go all the same
                causes.append(error)
                left += _what_is_left(store, place)
        TableIO.of(store).delete_if_empty(store.location())
    check_none_left(f"table {name!r} is dropped", left, cause=next(iter(causes), None))


def _delete_what_tables_make(store: Table, folder: str) -> tuple[str, ...]:
    """Delete a folder; only the files of tables where it also holds others. Return what stays."""
    io = TableIO.of(store)
    files = [file.path for file in io.list_files(folder)]
    if all(map(is_a_tables, files)):
        io.delete_tree(folder)
        return ()
    _log.warning("files that no table makes stay in %r", folder)
    return io.delete_quietly(filter(is_a_tables, files))


def _what_is_left(store: Table, folder: str) -> list[str]:
    try:
        found = TableIO.of(store).list_files(folder)
    except StorageError:
        return [folder]
    return [file.path for file in found if is_a_tables(file.path)]
