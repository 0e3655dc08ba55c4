"""What is not done yet to a table with ordering columns: refused before anything is read."""

from __future__ import annotations

from arctic.errors import UnsupportedError
from arctic.table.table_description import TableDescription


def refuse_ordered(table: TableDescription, what: str) -> None:
    """Refuse a verb that goes by the order of commits, where a table goes by its own columns.

    Args:
        table: any table.
        what: the verb, as a message begins.

    Raises:
        UnsupportedError: it has ordering columns.
    """
    if table.ordering_columns:
        raise UnsupportedError(
            f"{what} of table {table.name!r}: not possible for a table with ordering columns "
            f"({', '.join(table.ordering_columns)}) yet; see docs/ordering.md for what is"
        )
