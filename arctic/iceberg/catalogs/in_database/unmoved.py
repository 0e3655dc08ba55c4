"""A commit in a database that holds only while another table is as it was looked at.

A catalog in a database compares the row of the table that is committed to. The row of the other
table is compared in the same transaction, right before its end: whoever is about to change it has
done so, or waits until this transaction has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from sqlalchemy import select
from sqlalchemy.engine import Connection
from sqlalchemy.event import listen

_UNMOVED: ContextVar[Table | None] = ContextVar("unmoved", default=None)


def compare_at_commits(catalog: SqlCatalog) -> None:
    """Have the engine of a catalog heed ``only_while_unmoved``; for an engine that is in use."""
    listen(catalog.engine, "commit", partial(_compare, catalog.name))


@contextmanager
def only_while_unmoved(other: Table) -> Iterator[None]:
    """Let a commit to a table of the same database fail where another one has moved on.

    Args:
        other: the other table, as it was looked at.

    Raises:
        CommitFailedException: somebody has committed to it since; nothing was committed.
    """
    token = _UNMOVED.set(other)
    try:
        yield
    finally:
        _UNMOVED.reset(token)


def _compare(catalog: str, connection: Connection) -> None:
    other = _UNMOVED.get()
    if other is None:
        return
    name = other.name()
    row = IcebergTables
    found = connection.execute(
        select(row.metadata_location)
        .where(
            row.catalog_name == catalog,
            row.table_namespace == Catalog.namespace_to_string(Catalog.namespace_from(name)),
            row.table_name == Catalog.table_name_from(name),
        )
        .with_for_update(read=True)
    ).scalar_one_or_none()
    if found != other.metadata_location:
        raise CommitFailedException(f"table {'.'.join(name)!r} was committed to meanwhile")
