"""The newest metadata of a store that was loaded before."""

from __future__ import annotations

from copy import copy

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs.sqlite import file_of, location_errors
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.translate import catalog_errors
from arctic.retry import AT_ONCE


def refresh(table: Table) -> Table:
    """Load what the catalog says now; return the same object.

    The metadata file that the catalog names can be gone before it is read, because writers delete
    old ones: then the catalog names a newer one by now.

    Raises:
        NotFoundError: the table was dropped, or dropped and created again.
        StorageError: the catalog or the metadata file cannot be reached.
    """
    return AT_ONCE.run(lambda: _refresh(table), on=StorageError, if_=is_file_gone)


def newest(table: Table) -> Table:
    """Return a store as it is now, in an object of its own; raises as ``refresh``."""
    return refresh(copy(table))


def _refresh(table: Table) -> Table:
    name = ".".join(table.name())
    where = file_of(table.catalog)
    with catalog_errors(f"load table {name!r}{where}"):
        try:
            with location_errors(table.catalog):
                return table.refresh()
        except NoSuchTableError as error:
            raise NotFoundError(f"table {name!r}{where} was dropped after it was opened") from error
        except ValueError as error:
            if "UUID" not in str(error):
                raise
            raise NotFoundError(
                f"table {name!r}{where} was dropped and created again after it was opened; open it "
                "again"
            ) from error
