"""Runs: sources of rows whose chunks come in order, merged by ranges instead of row by row.

Strategy: every run has one chunk in memory, and of the last rows of these chunks one is the least.
No later chunk can hold a row before it. All rows up to it leave together as one range; the run that
ends there loads its next chunk, and so on. Ranges leave in order; inside a range, rows come run by
run. So most rows of a large run are never compared, and merging few changes into many rows is
cheap.

Rules:
    - No row of a chunk comes after a row of the run's next chunk. Inside a chunk there is no order,
      unless the run says so.

Must not know: deletes, what becomes of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from arctic.columns.row_order import RowKey, greatest_row, not_after


class Run:
    """One source of rows."""

    def __init__(
        self, chunks: Iterable[pa.Table], columns: Sequence[str], *, is_sorted: bool
    ) -> None:
        self._chunks = iter(chunks)
        self._columns = columns
        self._is_sorted = is_sorted
        self._ahead = self._pull()
        self._head: pa.Table | None = None
        self._last: RowKey | None = None
        self.load()

    @property
    def is_empty(self) -> bool:
        """Whether everything has left."""
        return self._head is None

    @property
    def has_more(self) -> bool:
        """Whether there are chunks after the one in memory."""
        return self._ahead is not None

    @property
    def last(self) -> RowKey:
        """The last row of the chunk in memory; only while the run is not empty."""
        assert self._last is not None
        return self._last

    def load(self) -> None:
        """Bring the next chunk into memory, if the one before has left."""
        if self._head is not None or self._ahead is None:
            return
        self._head, self._ahead = self._ahead, self._pull()
        self._last = self._last_row(self._head)

    def take_up_to(self, limit: RowKey | None) -> pa.Table | None:
        """Let the rows of the chunk leave that do not come after a row; None: all of them."""
        head = self._head
        if head is None:
            return None
        if limit is None or self.last <= limit:
            self._head = None
            return head
        mask = not_after(head, self._columns, limit)
        if self._is_sorted:
            count = int(np.count_nonzero(mask))
            self._head = head.slice(count)
            return head.slice(0, count) if count else None
        self._head = head.filter(pa.array(~mask))
        return head.filter(pa.array(mask)) if mask.any() else None

    def _pull(self) -> pa.Table | None:
        return next((chunk for chunk in self._chunks if chunk.num_rows), None)

    def _last_row(self, chunk: pa.Table) -> RowKey:
        if self._is_sorted:
            chunk = chunk.slice(chunk.num_rows - 1)
        return greatest_row(chunk, self._columns)


def merge_runs(runs: Sequence[Run]) -> Iterator[pa.Table]:
    """Yield the rows of all runs, each time those of one range of the order columns.

    Memory: one chunk of each run, and the one after it.
    """
    while True:
        for run in runs:
            run.load()
        active = [run for run in runs if not run.is_empty]
        if not active:
            return
        # Runs that have nothing after their chunk hold nobody back.
        limit = min((run.last for run in active if run.has_more), default=None)
        left = [rows for run in active if (rows := run.take_up_to(limit)) is not None]
        if left:
            yield pa.concat_tables(left)
