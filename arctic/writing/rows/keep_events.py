"""Chunks of events of which none is left out: each becomes a delete, an insert or both.

Rules:
    - An event shows the row that it replaces, where an earlier one of its chunk put it there.
    - Offsets rise with the events, so of the rows of a key the last one alone survives a merge.

Must not know: files, partitions, how rows arrive.
"""

from __future__ import annotations

import numpy as np

from arctic.writing.rows.actions import Action, is_insert
from arctic.writing.rows.collapse import Survivors


def keep_events(
    codes: np.ndarray,
    actions: np.ndarray | None,
    *,
    order: np.ndarray | None,
    upsert_inserts: bool,
) -> Survivors:
    """Return one entry for each event, in their order; an old row and its new one are one event.

    Args:
        codes: one number for each row, equal for equal keys.
        actions: ``Action`` codes of the rows; None: all upserted.
        order: row numbers in event order; None: as they stand.
        upsert_inserts: an insert replaces a row of its key that is there already.
    """
    rows = np.arange(len(codes), dtype=np.int64) if order is None else order
    given = np.full(len(codes), Action.UPDATE_AFTER, np.int8) if actions is None else actions
    by_key = np.argsort(codes[rows], kind="stable")
    rows = rows[by_key]
    keys, acts = codes[rows], given[rows]
    follows = np.append(False, keys[1:] == keys[:-1])[: len(rows)]
    before = np.append(Action.DELETE, acts[:-1])[: len(rows)]
    previous = np.append(0, rows[:-1])[: len(rows)]
    puts = is_insert(acts)
    joins = follows & (acts == Action.UPDATE_AFTER) & (before == Action.UPDATE_BEFORE)
    replaces = follows & is_insert(before)
    images = joins | replaces | ~puts
    kept = ~np.append(joins[1:], False)[: len(rows)]
    in_order = np.flatnonzero(kept)[np.argsort(by_key[kept])]
    # What an earlier event of the chunk deleted is gone: an insert after it replaces nothing.
    unknown = ~follows & (upsert_inserts | (acts != Action.INSERT))
    deletes = (unknown | joins | replaces | ~puts)[in_order]
    return Survivors(
        first=np.where(joins | replaces, previous, rows)[in_order],
        last=rows[in_order],
        deletes=deletes,
        images=images[in_order],
        inserts=puts[in_order],
        fresh=~deletes,
        renewed=np.zeros(len(in_order), dtype=bool),
    )
