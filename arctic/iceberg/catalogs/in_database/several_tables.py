"""A commit to several tables of a catalog in a database, in one transaction.

PyIceberg commits to one table. The rows of the others are changed in the same transaction, right
before its end, each only if it still names the metadata that its commit was made for.

Rules:
    - The rows are changed in the order of their names, so that two commits of several tables
      never wait for one another.
    - The metadata of all is written before; where nothing is committed, it is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import StagedTable, Table
from sqlalchemy import update
from sqlalchemy.engine import Connection

from arctic.iceberg.catalogs.in_database.transaction_end import last_step, row_of
from arctic.iceberg.catalogs.staged_metadata import delete_unnamed
from arctic.iceberg.catalogs.table_commit import TableCommit
from arctic.iceberg.storage.checked_io import keep_written
from arctic.iceberg.storage.many_snapshots import write_metadata


def commit_several(catalog: SqlCatalog, commits: Sequence[TableCommit]) -> None:
    """Commit to tables, all or none.

    Args:
        catalog: of all of them.
        commits: one for each table; made for the metadata that its table has here.

    Raises:
        CommitFailedException: somebody has committed to one of them since.
        Exception: of the database; all may have been committed.
    """
    first, *others = sorted(commits, key=lambda each: each.table.name())
    written: list[tuple[Table, StagedTable]] = [
        (
            each.table,
            catalog._update_and_stage_table(
                each.table, each.table.name(), each.requirements, each.updates
            ),
        )
        for each in others
    ]
    try:
        for _, staged in written:
            write_metadata(staged.metadata, staged.io, staged.metadata_location)
        with last_step(partial(_swap, written)):
            catalog.commit_table(first.table, first.requirements, first.updates)
    except CommitFailedException:
        for table, staged in written:
            delete_unnamed(catalog, table, [(staged.io, staged.metadata_location)])
        raise
    for table, staged in written:
        keep_written(staged.metadata_location, staged.metadata, catalog)
        Catalog._delete_old_metadata(table.io, table.metadata, staged.metadata)


def _swap(
    written: Sequence[tuple[Table, StagedTable]], catalog: str, connection: Connection
) -> None:
    for table, staged in written:
        before = table.metadata_location
        statement = (
            update(IcebergTables)
            .where(row_of(catalog, table), IcebergTables.metadata_location == before)
            .values(metadata_location=staged.metadata_location, previous_metadata_location=before)
        )
        if connection.execute(statement).rowcount != 1:
            name = ".".join(table.name())
            raise CommitFailedException(f"table {name!r} was committed to meanwhile")
