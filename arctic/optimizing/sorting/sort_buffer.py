"""Rows in no order become sorted runs; those that do not fit in memory wait on local disk.

Memory: ``buffer_bytes`` of Arrow data, of which half is the copy that sorting makes; later what
``spilled_runs`` says.

Must not know: tables, what the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from arctic.columns.row_order import sort_rows
from arctic.writing.rows.runs import Run
from arctic.writing.rows.spilled_runs import CHUNK_ROWS, SpilledRuns


class SortBuffer:
    """Takes rows, hands out runs; to be used as a context manager, which removes the files."""

    def __init__(self, columns: Sequence[str], *, buffer_bytes: int) -> None:
        self._columns = columns
        self._room_bytes = max(1, buffer_bytes // 2)
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._spilled: SpilledRuns | None = None

    def __enter__(self) -> SortBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spilled is not None:
            self._spilled.close()

    def add(self, rows: pa.Table) -> None:
        """Take rows.

        Raises:
            StorageError: local disk does not take a run.
        """
        if not rows.num_rows:
            return
        if self._held and self._held_bytes + rows.nbytes > self._room_bytes:
            self._spill()
        self._held.append(rows)
        self._held_bytes += rows.nbytes

    def runs(self) -> list[Run]:
        """Return everything that was taken as sorted runs; nothing may be added afterwards.

        Raises:
            StorageError: local disk does not take the end of a run.
        """
        runs = [] if self._spilled is None else self._spilled.runs()
        if self._held:
            runs.append(Run(_slices(self._drain()), self._columns, is_sorted=True))
        return runs

    def _drain(self) -> pa.Table:
        rows = sort_rows(pa.concat_tables(self._held), self._columns)
        self._held, self._held_bytes = [], 0
        return rows

    def _spill(self) -> None:
        rows = self._drain()
        if self._spilled is None:
            self._spilled = SpilledRuns(self._columns, rows.schema)
        self._spilled.add(rows)


def _slices(rows: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, rows.num_rows, CHUNK_ROWS):
        yield rows.slice(start, CHUNK_ROWS)
