"""A table of a catalog in a database gets the name of another, which goes, in one transaction.

Whoever asks for the name finds one of them, at every moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from sqlalchemy import delete, update
from sqlalchemy.exc import DBAPIError

from arctic.iceberg.catalogs.in_database.transaction_end import row_of
from arctic.iceberg.translate import was_rolled_back


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
    moved = update(IcebergTables).where(*_as_it_is(catalog, table)).values(**taken)
    try:
        with catalog.engine.begin() as connection:
            for each in gone:
                dropped = delete(IcebergTables).where(*_as_it_is(catalog, each))
                _done(connection.execute(dropped), each)
            _done(connection.execute(moved), table)
    except DBAPIError as error:
        # Who commits to a change store looks at base last: each can wait for the other.
        if not was_rolled_back(error):
            raise
        raise CommitFailedException(f"the database took it back: {error.orig}") from error


def _as_it_is(catalog: SqlCatalog, table: Table) -> tuple[Any, Any]:
    return (
        row_of(catalog.name, table),
        IcebergTables.metadata_location == table.metadata_location,
    )


def _done(result: Any, table: Table) -> None:
    if result.rowcount != 1:
        raise CommitFailedException(f"table {'.'.join(table.name())!r} was committed to meanwhile")
