"""How many rows tables had when this process last opened them.

What pays for large tables alone asks here first, so that a small one is not opened to be told that
it is small. One that has grown since is known to have by the next read of it, which opens it.

Memory: ``_MOST_TABLES`` names.
"""

from __future__ import annotations

from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference
from arctic.last_used import LastUsed

_MOST_TABLES = 1_000

_Key = tuple[str, frozenset[tuple[str, str]]]


def note_rows(reference: TableReference, opened: OpenTable) -> int | None:
    """Return how many rows the newest state of a table stores, those of changes and dead ones too.

    Args:
        reference: what it was opened by.
        opened: the table.

    Returns:
        None: a writer's summary does not say it.
    """
    rows = opened.summed("total-records")
    if rows is None:
        _SEEN.drop(_key(reference))
    else:
        _SEEN.put(_key(reference), rows, weight=1, most=_MOST_TABLES)
    return rows


def rows_seen(reference: TableReference) -> int | None:
    """Return how many there were when somebody last noted it; None: nobody has."""
    return _SEEN.get(_key(reference))


def _key(reference: TableReference) -> _Key:
    return reference.identifier, frozenset(reference.options.items())


_SEEN: LastUsed[_Key, int] = LastUsed()
"""Of this process."""
