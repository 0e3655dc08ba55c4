"""The order of events in each chunk, where a task takes chunk after chunk.

Rules:
    - Rows that were announced as sorted are held to it, also where one chunk meets the next: a
      later event could lose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import event_order
from arctic.errors import InternalError
from arctic.writing.rows.gather import take_rows


class ChunkOrder:
    """Orders the events of one chunk after the other."""

    def __init__(self, columns: Sequence[str], *, announced: bool, table_name: str) -> None:
        """Take the columns of the order, and whether the rows are said to be in it already."""
        self._columns = list(columns)
        self._announced = announced
        self._table_name = table_name
        self._last: pa.Table | None = None

    def of(self, rows: pa.Table) -> np.ndarray | None:
        """Return the row numbers of a chunk in event order; None: as they stand.

        Raises:
            InternalError: announced rows are not in order.
        """
        order = event_order(rows, self._columns)
        if not self._columns or not self._announced:
            return order
        events = rows.select(self._columns)
        edge = [] if self._last is None else [self._last]
        edge_order = event_order(pa.concat_tables([*edge, events.slice(0, 1)]), self._columns)
        if order is not None or edge_order is not None:
            raise InternalError(
                f"rows for table {self._table_name!r} were announced as sorted by "
                f"{', '.join(self._columns)}, but are not: a later event could lose"
            )
        self._last = take_rows(events, np.array([rows.num_rows - 1]))
        return None
