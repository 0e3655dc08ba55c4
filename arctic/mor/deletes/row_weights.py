"""Numbers by which rows and deletes of a key are held against one another: the greatest wins.

With ordering columns they are the values of these. Where the first row of a key stays they say how
early an event came: a row of base came before all that waits, and an upsert, which is a delete and
the insert after it, came once.

Rules:
    - Of equal numbers the later event wins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import order_numbers
from arctic.columns.integers.integer_index import IntArray
from arctic.table.merge_engine import MergeEngine

_BEFORE_ALL = np.iinfo(np.int64).max


def row_weights(
    engine: MergeEngine,
    ordering: Sequence[pa.Array],
    *,
    transaction_id: int | IntArray,
    file_offsets: IntArray | None,
    count: int,
) -> tuple[IntArray, ...]:
    """Return the numbers of data rows; none where the later one wins.

    Args:
        engine: what becomes of the rows of a key.
        ordering: values of the ordering columns.
        transaction_id: that of every row, or of each.
        file_offsets: those of inserts; None for base rows.
        count: how many rows there are.
    """
    if engine is not MergeEngine.FIRST_ROW:
        return order_numbers(ordering)
    if file_offsets is None:
        return (np.full(count, _BEFORE_ALL), np.full(count, _BEFORE_ALL))
    # The delete of the same upsert has the offset before.
    return (np.full(count, np.negative(transaction_id)), 1 - file_offsets)


def delete_weights(
    engine: MergeEngine, ordering: Sequence[IntArray], *, transaction_id: int, offsets: IntArray
) -> tuple[IntArray, ...]:
    """Return the numbers of change deletes; none where the later event wins.

    Args:
        engine: what becomes of the rows of a key.
        ordering: values of the ordering columns as numbers.
        transaction_id: that of every delete.
        offsets: their file offsets.
    """
    if engine is not MergeEngine.FIRST_ROW:
        return tuple(ordering)
    return (np.full(len(offsets), -transaction_id), -offsets)
