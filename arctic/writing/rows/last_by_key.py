"""The last row of each key of a table, in key order.

Strategy: what rises strictly by key has every key once and is in order, and seeing that costs a
hundredth of finding it out: rows often come as another table kept them. Else rows are sorted by
key, which also brings equal keys together, with later events behind earlier ones.

Must not know: nodes, files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.event_order import compare_neighbours, event_order, rises
from arctic.columns.key_codes import factorise
from arctic.writing.rows.collapse import collapse
from arctic.writing.rows.gather import take_rows, widen_texts
from arctic.writing.write_request import WriteMode


def last_by_key(rows: pa.Table, key: Sequence[str], *, events: Sequence[str]) -> np.ndarray | None:
    """Return the row numbers of each key's last event, in key order; None: all, as they stand.

    Args:
        rows: with the columns of key and events, none of them null.
        key: the key columns, most significant first.
        events: columns that order events; none: as they stand.
    """
    keys = rows.select(list(key))
    if rises(keys):
        return None
    order = event_order(rows, events)
    # To a sort, -0.0 and 0.0 are equal; as keys they differ.
    if order is not None or any(pt.is_floating(kind) for kind in keys.schema.types):
        return _last_by_code(keys, order)
    keys = widen_texts(keys, except_for=()).combine_chunks()
    order = _key_order(keys)
    repeated = compare_neighbours(take_rows(keys, order)) == 0
    return order[np.append(~repeated, True)] if repeated.any() else order


def _last_by_code(keys: pa.Table, order: np.ndarray | None) -> np.ndarray:
    codes, key_count = factorise(keys)
    survivors = collapse(
        codes,
        key_count,
        None,
        order=order,
        mode=WriteMode.OVERWRITE,
        upsert_inserts=True,
        finds_renewed=False,
    )
    wide = widen_texts(keys, except_for=()).combine_chunks()
    numbers: np.ndarray = survivors.last[_key_order(take_rows(wide, survivors.last))]
    return numbers


def _key_order(keys: pa.Table) -> np.ndarray:
    """Return the row numbers in key order; rows of one key stay as they are."""
    by_key = [(name, "ascending") for name in keys.column_names]
    return np.asarray(pc.sort_indices(keys, sort_keys=by_key).to_numpy(), dtype=np.int64)
