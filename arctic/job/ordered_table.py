"""Refused at once: what would go wrong where a table holds rows of a key against one another."""

from __future__ import annotations

from arctic.errors import UnsupportedError
from arctic.table.merge_engine import MergeEngine
from arctic.table.table_description import TableDescription


def refuse_weighed(table: TableDescription, what: str) -> None:
    """Refuse a verb that goes by the order of commits alone.

    Args:
        table: any table.
        what: the verb, as a message begins.

    Raises:
        UnsupportedError: it has ordering columns or a merge engine.
    """
    refuse_ordered(table, what)
    refuse_engine(table, what)


def refuse_engine(table: TableDescription, what: str) -> None:
    """Refuse a verb that replaces or removes stored rows, where a table merges them otherwise.

    Args:
        table: any table.
        what: the verb, as a message begins.

    Raises:
        UnsupportedError: it has a merge engine.
    """
    if table.merge_engine is not MergeEngine.LAST_ROW:
        raise UnsupportedError(f"{what} of table {table.name!r}: {_refusal(table)}")


def refuse_edits(table: TableDescription, what: str) -> None:
    """Refuse a command that sets or removes rows, where the first row of a key stays.

    Args:
        table: any table.
        what: the verb, as a message begins.

    Raises:
        UnsupportedError: it does.
    """
    why = why_not_edited(table)
    if why is not None:
        raise UnsupportedError(f"{what} of table {table.name!r}: {why}")


def why_not_edited(table: TableDescription) -> str | None:
    """Say why stored rows are neither set nor removed by commands; None: they may be."""
    return _refusal(table) if table.merge_engine is MergeEngine.FIRST_ROW else None


def _refusal(table: TableDescription) -> str:
    return (
        f"not possible with the merge engine {table.merge_engine.value!r}; see "
        "docs/merge-engines.md for what is"
    )


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
