"""A table of a catalog in a database gets the name of another, which goes, in one transaction.

Whoever asks for the name finds one of them, at every moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import Table
from sqlalchemy import update

from arctic.iceberg.catalogs.in_database.leave_catalog import (
    check_found,
    delete_rows,
    one_transaction,
    row_as_seen,
)


def take_name(catalog: SqlCatalog, table: Table, gone: Sequence[Table]) -> None:
    """Give a table the name of the first of others, all of which leave the catalog.

    Args:
        catalog: of all of them.
        table: as it is now.
        gone: as they are now; their files stay.

    Raises:
        CommitFailedException: somebody has committed to one of them since, or was about to;
            nothing was changed.
        Exception: of the database.
    """
    name = gone[0].name()
    taken = {
        "table_namespace": Catalog.namespace_to_string(Catalog.namespace_from(name)),
        "table_name": Catalog.table_name_from(name),
    }
    moved = update(IcebergTables).where(row_as_seen(catalog.name, table)).values(**taken)
    with one_transaction(catalog) as connection:
        delete_rows(connection, catalog.name, gone)
        check_found(connection.execute(moved), table)
