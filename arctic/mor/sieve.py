"""What leaves rows of a data file out, batch by batch: deletes of rows by number, and the filter.

Must not know: how rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.position_deletes import RemovedRows
from arctic.mor.files.file_columns import Projection
from arctic.mor.filters.row_filter import RowTest


@dataclass(frozen=True, slots=True, eq=False)
class Sieve:
    """What leaves rows out, of which some row groups have no deletes."""

    test: RowTest
    removed: RemovedRows
    merge: Projection
    """The columns that are looked up among the deletes."""
    index: DeleteIndex | None

    @property
    def looked_into(self) -> set[str]:
        """Columns whose values decide, by their names in the file."""
        return {*self.merge.names, *self.test.projection.names}

    def mask(self, first_row: int, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Say which rows of a batch match, and are not known to be dead."""
        return self.removed.alive(first_row, len(batch)) & self.test.mask(batch)
