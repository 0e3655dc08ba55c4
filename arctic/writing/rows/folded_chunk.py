"""Rows of a chunk as one row of each key, where a table folds all rows of its key.

What is folded here is folded on when it is read, with the same result, and takes less room.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.columns.key_codes import factorise
from arctic.mor.folding.fold_rows import fold_rows
from arctic.table.merge_engine import FoldRules
from arctic.writing.rows.actions import Action
from arctic.writing.rows.gather import Gathered
from arctic.writing.target import WriteTarget


def folded_chunk(
    chunk: Gathered, order: np.ndarray | None, target: WriteTarget, rules: FoldRules
) -> Gathered:
    """Return a chunk with one new row for each key.

    Args:
        chunk: rows that none of them removes.
        order: row numbers in event order; None: as they stand.
        target: the table.
        rules: how rows are folded.

    Raises:
        InvalidInputError: a sum that its column cannot hold.
    """
    codes, _ = factorise(chunk.rows.select(list(target.key)))
    rows = np.arange(len(codes)) if order is None else order
    rows = rows[np.argsort(codes[rows], kind="stable")]
    codes = codes[rows]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
    if len(starts):
        own = pa.table(chunk.rows.select(target.schema.names).take(pa.array(rows)))
        numbers = [known_field_id(field) for field in target.schema]
        own = fold_rows(own, numbers, starts, rules)
    else:
        own = chunk.rows.select(target.schema.names)
    actions = np.full(own.num_rows, Action.UPDATE_AFTER, np.int8)
    return replace(chunk, rows=own, actions=actions)
