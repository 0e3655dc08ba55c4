"""Tables that were just made, taken back where their first write fails.

Rules:
    - Only a table that nobody has committed to is taken back: the pointers of both stores are
      compared and removed in one transaction of the catalog. Whoever commits before keeps the
      table; whoever commits later is told that it was dropped.
    - Of its files, only those go that were there while the catalog had it: whoever makes a table
      of the same name meanwhile may have chosen the same folder.
    - A catalog without such a transaction keeps the table: a commit that lands between a look and
      a drop would be lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from arctic.errors import ArcticError, CommitStateUnknownError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.in_database.leave_catalog import leave_catalog
from arctic.iceberg.ownership.folders import own_files
from arctic.iceberg.storage.metadata_document import METADATA_FILE
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.translate import catalog_errors

_log = logging.getLogger(__name__)
_made: ContextVar[list[NewTable] | None] = ContextVar("made", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """A table as it was made; a value that can go to another process."""

    config: CatalogConfig
    name: str
    stores: tuple[tuple[tuple[str, ...], str], ...]
    """Identifier and first metadata file of each store, base first."""


@contextmanager
def new_tables() -> Iterator[list[NewTable]]:
    """Collect the tables that are made inside the block, by this thread."""
    made: list[NewTable] = []
    token = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(token)


def note_new(opened: OpenTable) -> None:
    """Note a table that was just made, for whoever collects them with ``new_tables``."""
    made = _made.get()
    if made is not None:
        stores = [store for store in (opened.base, opened.change) if store is not None]
        made.append(
            NewTable(
                config=opened.config,
                name=opened.table.name,
                stores=tuple((store.name(), store.metadata_location) for store in stores),
            )
        )


@contextmanager
def taken_back_on_failure() -> Iterator[Sequence[NewTable]]:
    """Drop the tables that the block makes when it fails, unless somebody wrote to them.

    Yields:
        What it has made so far.

    Raises:
        ArcticError: that of the block; it says so when the table could not be dropped.
    """
    with new_tables() as made:
        try:
            yield made
        except CommitStateUnknownError:
            raise
        except ArcticError as error:
            stay = [why for new in made if (why := take_back(new)) is not None]
            if stay:
                raise type(error)("; ".join([error.message, *stay])) from error
            raise
        except BaseException:
            take_back_all(made)
            raise


def take_back_all(made: Sequence[NewTable]) -> None:
    """Drop tables whose first write failed, unless somebody wrote to them."""
    for new in made:
        why = take_back(new)
        if why is not None:
            _log.warning("%s", why)


def take_back(new: NewTable) -> str | None:
    """Drop a table that is still as it was made, with its files.

    Returns:
        Why the table stays although it is empty; None: it is gone, or it is somebody's by now.
    """
    subject = f"table {new.name!r} was made for this write and stays, empty"
    try:
        catalog = open_catalog(new.config)
        if not isinstance(catalog, SqlCatalog):
            return f"{subject}: drop it, or write again"
        stores = _untouched(catalog, new)
        files = [(store, _files(store)) for store in stores]
        if stores and _forget(catalog, stores):
            for store, paths in files:
                _delete(store, paths)
    except ArcticError as error:
        return f"{subject}: {error.message}"
    return None


def _untouched(catalog: SqlCatalog, new: NewTable) -> Sequence[Table]:
    """Return its stores; none if one of them is not as it was made."""
    stores = []
    for identifier, metadata_location in new.stores:
        store = load_table(catalog, identifier)
        if store is None or store.metadata_location != metadata_location:
            return ()
        stores.append(store)
    return stores


def _files(store: Table) -> list[str]:
    """Return its files; metadata that it does not know begins another table in the same folder."""
    paths = [file.path for file in own_files(store) if not file.path.endswith(METADATA_FILE)]
    return [*paths, store.metadata_location]


def _delete(store: Table, paths: Sequence[str]) -> None:
    io = TableIO.of(store)
    io.delete_quietly(paths)
    io.delete_if_empty(store.location(), with_empty_folders=True)


def _forget(catalog: SqlCatalog, stores: Sequence[Table]) -> bool:
    """Remove the stores from the catalog; False: one was committed to, and all stay."""
    with catalog_errors(f"drop table {'.'.join(stores[0].name())!r}"):
        try:
            leave_catalog(catalog, stores)
        except CommitFailedException:
            return False
    return True
