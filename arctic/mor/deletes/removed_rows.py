"""Rows of one file that are known to be removed before any of them is read, by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arctic.columns.integers.integer_index import IntArray
from arctic.columns.integers.row_set import RowSet


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """What position deletes remove, and change deletes that were looked up before."""

    positions: IntArray
    """Ascending."""
    dead: RowSet | None

    def alive(self, first_row: int, row_count: int) -> npt.NDArray[np.bool_]:
        """Say for each of some neighbouring rows whether it is not among them."""
        mask = np.ones(row_count, bool)
        start, end = np.searchsorted(self.positions, (first_row, first_row + row_count))
        mask[self.positions[start:end] - first_row] = False
        if self.dead is not None:
            mask &= ~self.dead.slice(first_row, row_count)
        return mask
