"""Columns that a write does not have, taken from the rows that are stored.

Rules:
    - A stored row is kept as it was before the write. A row that comes after a delete of its key
      in the same write is a new one, as if they were two writes: what it lacks is null.
    - Of several stored rows of one key, which appends make, the one that was read last is kept.

Must not know: how stored rows are searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from arctic.columns.key_codes import factorise
from arctic.writing.rows.collapse import Survivors
from arctic.writing.rows.gather import take_rows, widen_texts
from arctic.writing.target import Locate


class KeptColumns:
    """Fills the chunks of one task."""

    def __init__(self, names: Sequence[str], *, key: Sequence[str], locate: Locate) -> None:
        self._names = names
        self._key = list(key)
        self._locate = locate
        self._renewed: list[pa.Table] = []

    def fill(self, rows: pa.Table, survivors: Survivors) -> tuple[pa.Table, Locate]:
        """Put what is stored in place of what a chunk lacks.

        Args:
            rows: the chunk, with nulls in these columns.
            survivors: of the chunk, with those that are renewed.

        Returns:
            The rows, and a search that knows where those of their keys are stored.
        """
        keys = rows.select(self._key)
        stored = self._locate(take_rows(keys, survivors.last))
        renewed = survivors.last[survivors.renewed & survivors.inserts]
        if len(renewed):
            self._renewed.append(take_rows(keys, renewed))
        filled = fill_columns(rows, stored, key=self._key, names=self._names, but_rows=renewed)
        return filled, partial(_already_found, stored)

    def renewed(self) -> pa.Table | None:
        """Return the keys of the rows that kept nothing, because they are new ones."""
        return pa.concat_tables(self._renewed) if self._renewed else None


def fill_columns(
    rows: pa.Table,
    stored: pa.Table,
    *,
    key: Sequence[str],
    names: Sequence[str],
    but_rows: np.ndarray,
) -> pa.Table:
    """Return rows with some columns taken from the stored rows of their keys.

    Args:
        rows: of any keys, with all columns.
        stored: rows with the key and these columns.
        key: the key columns.
        names: the columns to take; null where a key is not stored.
        but_rows: numbers of the rows that take nothing: null.
    """
    given = rows.select(list(key))
    codes, count = factorise(pa.concat_tables([given, stored.select(list(key)).cast(given.schema)]))
    places = np.full(count, -1, dtype=np.int64)
    places[codes[rows.num_rows :]] = np.arange(stored.num_rows)
    of_rows = places[codes[: rows.num_rows]]
    of_rows[but_rows] = -1
    # An index that is null takes a null, for every type there is.
    taken = pa.array(np.maximum(of_rows, 0), mask=of_rows < 0)
    wide = widen_texts(stored, except_for=key)
    for name in names:
        values = wide.column(name)
        column = values.take(taken) if stored.num_rows else pa.nulls(rows.num_rows, values.type)
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(name).with_type(values.type), column)
    return rows


def _already_found(stored: pa.Table, keys: pa.Table) -> pa.Table:
    """Answer a search for keys that were looked up; rows of other keys do no harm."""
    return stored
