"""Tables that queries of an engine have opened, each once while it is planned.

An engine asks of a table more than once: whether metadata knows its aggregates, whether tasks make
them, at last how the rows are read, and in a self-join all of that twice.

Rules:
    - The engine names the query. All that is asked in its name is told of what was opened first,
      one state with the columns that it had. Without a name a table is opened each time.
    - Another query opens anew, and sees what was committed meanwhile.

Memory: ``_MOST_TABLES`` open tables, whose metadata has the size of their metadata files.
"""

from __future__ import annotations

from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference
from arctic.job.rows_seen import note_rows
from arctic.last_used import LastUsed

_MOST_TABLES = 8
"""Of a query they are asked for one after the other, and of few queries at a time."""

_Key = tuple[str, str, str | None, frozenset[tuple[str, str]]]


class TablesOfQueries:
    """The open tables; safe for threads and forks."""

    def __init__(self) -> None:
        self._held: LastUsed[_Key, OpenTable] = LastUsed()

    def opened(self, query: str | None, reference: TableReference) -> OpenTable:
        """Return a table as the query has opened it; open it, and note its rows, if it has not.

        Args:
            query: its name; None: it has none.
            reference: the table.

        Raises:
            ArcticError: as ``open_table``.
        """
        key = None if query is None else _key(query, reference)
        found = None if key is None else self._held.get(key)
        if found is None:
            found = reference.open()
            note_rows(reference, found)
            if key is not None:
                self._held.put(key, found, weight=1, most=_MOST_TABLES)
        return found


TABLES_OF_QUERIES = TablesOfQueries()
"""Of this process."""


def _key(query: str, reference: TableReference) -> _Key:
    place = frozenset(reference.options.items())
    return query, reference.identifier, reference.metadata_table, place
