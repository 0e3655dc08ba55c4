"""Which task a row goes to, so that one task owns all events of a key.

Rules:
    - Ids are computed from the table's types: an int of the frame hashes as the long it will be.
    - Any assignment is right as long as equal keys meet; this one also sends each (partition,
      node) to a single task, which is what bounds the number of files.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.tree.hash_arrays import hash_arrays

TASK_COLUMN = "_arctic_task"
"""Helper column of a shuffled frame: the task a row was sent to. Never reaches the table."""
ARRIVAL_COLUMN = "_arctic_arrival"
"""Helper column of a shuffled frame: the order of its rows before the shuffle."""
HELPER_COLUMNS = (TASK_COLUMN, ARRIVAL_COLUMN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShufflePlan:
    """How to spread the rows of one write; pickles."""

    columns: tuple[str, ...]
    """The columns that ``task_ids`` takes, in this order."""
    schema: pa.Schema
    """Their types in the table."""
    sort_columns: tuple[str, ...]
    """By which a task's rows are sorted, before the arrival column."""
    max_tasks: int | None
    """More tasks than this would stay empty; None: as many as the table has partitions."""
    key: tuple[str, ...]
    key_types: tuple[str, ...]
    mask: int
    partition_arrays: Callable[[pa.RecordBatch], list[pa.Array]] | None
    """As that of a ``WriteTarget``; None: the partition does not take part."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the write itself must be told beside the user's options."""

    def task_ids(self, columns: Sequence[pa.Array], task_count: int) -> pa.Array:
        """Return the task of each row.

        Args:
            columns: the columns named by ``columns``, of equal length.
            task_count: tasks to spread over, at least 1.

        Returns:
            int32, not null, from 0 to ``task_count`` - 1.
        """
        batch = pa.RecordBatch.from_arrays(
            [
                pc.cast(column, field.type)
                for column, field in zip(columns, self.schema, strict=True)
            ],
            schema=self.schema,
        )
        place = np.zeros(batch.num_rows, dtype=np.int64)
        if self.key:
            place += (
                hash_arrays([batch.column(name) for name in self.key], self.key_types) & self.mask
            )
        if self.partition_arrays is not None:
            for values in self.partition_arrays(batch):
                place = (place * 31 + _fingerprints(values)) & 0x7FFFFFFF
        return pa.array((place % task_count).astype(np.int32))


def _fingerprints(values: pa.Array) -> npt.NDArray[np.int64]:
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    distinct = np.array(
        [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )
    numbers: npt.NDArray[np.int64] = distinct[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers
