"""Rows that are looked for among others by all their values, each as often as it is wanted.

Rules:
    - Values are equal as those of keys are, so no two rows are that a reader could tell apart; what
      is nested is compared by what it says in Python.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.field_ids import child_fields
from arctic.columns.key_codes import KeyIndex


class EqualRows:
    """Rows that are wanted.

    Memory: these rows.
    """

    def __init__(self, rows: pa.Table, names: list[str]) -> None:
        nested = [name for name in names if child_fields(rows.schema.field(name).type)]
        self._flat = [name for name in names if name not in nested]
        self._nested = nested
        # What is nested has no codes: only rows that are equal beside it are looked at in Python.
        self._sieve = KeyIndex(rows.select(self._flat)) if self._flat and nested else None
        index = KeyIndex(pa.table(self._columns(rows), self._names))
        self._left = np.bincount(index.take_codes(), minlength=index.count)
        self._index = index

    @property
    def left(self) -> int:
        """How many are wanted still."""
        return int(self._left.sum())

    def take(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the rows of a batch that are equal to wanted ones, which are wanted no more."""
        rows = np.arange(batch.num_rows)
        if self._sieve is not None:
            rows, _ = self._sieve.match([batch.column(name) for name in self._flat])
            batch = batch.take(pa.array(rows))
        found, codes = self._index.match(self._columns(batch))
        order = np.argsort(codes, kind="stable")
        found, codes = found[order], codes[order]
        nth = np.arange(len(codes)) - np.searchsorted(codes, codes)
        is_wanted = nth < self._left[codes]
        np.subtract.at(self._left, codes[is_wanted], 1)
        taken: npt.NDArray[np.int64] = np.sort(rows[found[is_wanted]])
        return taken

    @property
    def _names(self) -> list[str]:
        return [*self._flat, *self._nested]

    def _columns(self, rows: pa.Table | pa.RecordBatch) -> list[pa.Array]:
        texts = [
            pa.array([repr(value) for value in rows.column(name).to_pylist()], pa.string())
            for name in self._nested
        ]
        return [*(rows.column(name) for name in self._flat), *texts]
