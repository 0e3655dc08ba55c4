"""Tables that leave a catalog in a database, only as they were seen; their files stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from sqlalchemy import ColumnElement, and_, delete
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from arctic.iceberg.catalogs.in_database.transaction_end import row_of
from arctic.iceberg.translate import was_rolled_back


def leave_catalog(catalog: SqlCatalog, tables: Sequence[Table]) -> None:
    """Take tables out of a catalog in one transaction, all or none.

    Args:
        catalog: of all of them.
        tables: as they are now.

    Raises:
        CommitFailedException: somebody has committed to one of them since, or dropped it, or was
            about to; all stay.
        Exception: of the database.
    """
    with one_transaction(catalog) as connection:
        delete_rows(connection, catalog.name, tables)


@contextmanager
def one_transaction(catalog: SqlCatalog) -> Iterator[Connection]:
    """Yield a connection whose statements are done together, or not at all.

    Raises:
        CommitFailedException: the database took them back.
        Exception: of the database.
    """
    try:
        with catalog.engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        # Who commits to a change store looks at base last: each can wait for the other.
        if not was_rolled_back(error):
            raise
        raise CommitFailedException(f"the database took it back: {error.orig}") from error


def delete_rows(connection: Connection, catalog: str, tables: Sequence[Table]) -> None:
    """Delete the rows of tables in a transaction that is under way.

    Raises:
        CommitFailedException: one is not as it is here.
    """
    for each in tables:
        check_found(
            connection.execute(delete(IcebergTables).where(row_as_seen(catalog, each))), each
        )


def row_as_seen(catalog: str, table: Table) -> ColumnElement[bool]:
    """Return what is true of the row of a table alone, while nobody commits to it."""
    return and_(row_of(catalog, table), IcebergTables.metadata_location == table.metadata_location)


def check_found(result: Any, table: Table) -> None:
    """Refuse what a statement about one row has not found.

    Raises:
        CommitFailedException: there was no such row.
    """
    if result.rowcount != 1:
        raise CommitFailedException(f"table {'.'.join(table.name())!r} was committed to meanwhile")
