"""A commit to several tables of a catalog in a database, in one transaction.

PyIceberg commits to one table. The rows of the others are changed in the same transaction, right
before its end, each only if it still names the metadata that its commit was made for.

Rules:
    - The rows are changed in the order of their names, so that two commits of several tables
      never wait for one another.
    - The metadata of all but the first is written before. Where nothing is committed it stays for
      the next time, until whoever asks discards it: see ``WrittenMetadata``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import StagedTable
from sqlalchemy import update
from sqlalchemy.engine import Connection

from arctic.iceberg.catalogs.in_database.transaction_end import last_step, row_of
from arctic.iceberg.catalogs.staged_metadata import TableCommit
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
    staged = [(each, _staged(catalog, each)) for each in others]
    for each, made in staged:
        if each.metadata.staged is None:
            write_metadata(made.metadata, made.io, made.metadata_location)
            each.metadata.staged = made
    first.metadata.discard()  # which its own commit writes anew
    with last_step(partial(_swap, staged)):
        catalog.commit_table(first.table, first.requirements, first.updates)
    for each, made in staged:
        keep_written(made.metadata_location, made.metadata, catalog)
        Catalog._delete_old_metadata(each.table.io, each.table.metadata, made.metadata)


def _staged(catalog: SqlCatalog, commit: TableCommit) -> StagedTable:
    if commit.metadata.staged is not None:
        return commit.metadata.staged
    name = commit.table.name()
    return catalog._update_and_stage_table(commit.table, name, commit.requirements, commit.updates)


def _swap(
    staged: Sequence[tuple[TableCommit, StagedTable]], catalog: str, connection: Connection
) -> None:
    for commit, made in staged:
        table, before = commit.table, commit.table.metadata_location
        statement = (
            update(IcebergTables)
            .where(row_of(catalog, table), IcebergTables.metadata_location == before)
            .values(metadata_location=made.metadata_location, previous_metadata_location=before)
        )
        if connection.execute(statement).rowcount != 1:
            name = ".".join(table.name())
            raise CommitFailedException(f"table {name!r} was committed to meanwhile")
