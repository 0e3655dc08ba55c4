"""What is done in a database right before a commit of this thread ends its transaction.

One such step holds a commit only while another table is as it was looked at. A catalog in a
database compares the row of the table that is committed to. The row of the other table is compared
in the same transaction: whoever is about to change it has done so, or waits until it has ended.

Who can tell whether it matters looks at what came, while others wait. Else a commit would never
land beside somebody who commits to the other table without a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.engine import Connection
from sqlalchemy.event import listen

from arctic.errors import ArcticError

LastStep = Callable[[str, Connection], None]
"""Is given the name of the catalog and the connection; raises ``CommitFailedException`` where
nothing may be committed."""

LookAgain = Callable[[Table], None]
"""Is given the other table as it is now; raises ``ArcticError`` where nothing may be committed."""

_LAST_STEPS: ContextVar[tuple[LastStep, ...]] = ContextVar("last_steps", default=())


def heed_last_steps(catalog: SqlCatalog) -> None:
    """Have the engine of a catalog take last steps; for an engine that is in use."""
    listen(catalog.engine, "commit", partial(_take, catalog.name))


@contextmanager
def last_step(step: LastStep) -> Iterator[None]:
    """Let a commit within end with a step, after those that were asked for before."""
    token = _LAST_STEPS.set((*_LAST_STEPS.get(), step))
    try:
        yield
    finally:
        _LAST_STEPS.reset(token)


@contextmanager
def only_while_unmoved(other: Table, look_again: LookAgain | None = None) -> Iterator[None]:
    """Let a commit to a table of the same database fail where another one has moved on.

    Args:
        other: the other table, as it was looked at.
        look_again: looks at it anew where it has moved, while others wait; None: nobody can.

    Raises:
        CommitFailedException: somebody has committed to it since; nothing was committed.
    """
    with last_step(partial(_compare, other, look_again)):
        yield


def row_of(catalog: str, table: Table) -> ColumnElement[bool]:
    """Return what is true of the row of a table alone."""
    name, row = table.name(), IcebergTables
    return and_(
        row.catalog_name == catalog,
        row.table_namespace == Catalog.namespace_to_string(Catalog.namespace_from(name)),
        row.table_name == Catalog.table_name_from(name),
    )


def _take(catalog: str, connection: Connection) -> None:
    for step in _LAST_STEPS.get():
        step(catalog, connection)


def _compare(
    other: Table, look_again: LookAgain | None, catalog: str, connection: Connection
) -> None:
    name, row = other.name(), IcebergTables
    found = connection.execute(
        select(row.metadata_location).where(row_of(catalog, other)).with_for_update(read=True)
    ).scalar_one_or_none()
    if found == other.metadata_location:
        return
    moved = None if found is None or look_again is None else _moved(other, found)
    if moved is None or look_again is None:
        raise CommitFailedException(f"table {'.'.join(name)!r} was committed to meanwhile")
    try:
        look_again(moved)
    except ArcticError as error:
        # Who tries again looks at it in peace, and says what is wrong.
        raise CommitFailedException(f"table {'.'.join(name)!r}: {error.message}") from error


def _moved(other: Table, location: str) -> Table | None:
    """Return the other table as it is now; None where its metadata is gone or another table's."""
    moved = copy(other)
    # As the catalog reads it: what was kept is kept for those who reach it by the same properties.
    file_io = load_file_io(properties=dict(other.catalog.properties), location=location)
    try:
        moved.metadata = FromInputFile.table_metadata(file_io.new_input(location))
    except OSError:
        return None
    moved.metadata_location = location
    return moved if moved.metadata.table_uuid == other.metadata.table_uuid else None
