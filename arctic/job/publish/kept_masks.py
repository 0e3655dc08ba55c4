"""The rows that delete files of published tables name, kept from the publish that wrote them.

A publish builds upon the one before: what it finds dead comes to what the delete file of a data
file names already. Whoever wrote that file needs not read it again.

Rules:
    - What is kept of a delete file is what was written to its path, which nobody writes twice.

Memory: a bit for each row of the data files, up to ``MOST_BYTES``.
"""

from __future__ import annotations

from collections.abc import Iterable

from arctic.columns.integers.row_set import RowSet
from arctic.last_used import LastUsed

MOST_BYTES = 64 * 2**20
"""Those that were used longest ago are forgotten first."""
_FILE_BYTES = 500
"""What one takes beside its bits."""
_MOST_TABLES = 10_000


class KeptMasks:
    """The dead rows of data files by the path of what names them; safe for threads and forks."""

    def __init__(self) -> None:
        self._rows: LastUsed[str, RowSet] = LastUsed()
        self._tables: LastUsed[str, bool] = LastUsed()

    def comes_back(self, table: str) -> bool:
        """Say whether a table was published by this process before, from now on that it was."""
        was_here = self._tables.get(table) is not None
        self._tables.put(table, True, weight=1, most=_MOST_TABLES)
        return was_here

    def rows(self, path: str) -> RowSet | None:
        """Return the rows that a delete file names; None: it is to be read."""
        return self._rows.get(path)

    def keep(self, written: Iterable[tuple[str, RowSet]]) -> None:
        """Keep the rows of delete files that were written."""
        for path, rows in written:
            self._rows.put(path, rows, weight=rows.nbytes + _FILE_BYTES, most=MOST_BYTES)

    def forget(self) -> None:
        """Keep nothing, as a process that is new to the tables."""
        self._rows.forget()
        self._tables.forget()


KEPT_MASKS = KeptMasks()
"""Of this process."""
