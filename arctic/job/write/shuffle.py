"""Which task a row goes to, so that one task owns all events of a key.

Rules:
    - Ids are computed from the table's types: an int of the frame hashes as the long it will be.
    - Any assignment is right as long as equal keys meet; this one also sends each (partition,
      node) to a single task, which is what bounds the number of files.
    - A partition that is known to be hot gets tasks of its own, and deeper nodes where its key
      decides them; without a key its rows go by what is in them. Never by their order: a stage that
      is run again may see them in another one, and rows would be lost or doubled.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.cast import cast_column
from arctic.table.files import Partition
from arctic.table.hot_partitions import HotPartition, PartitionShares, hot_partitions
from arctic.tree.hash_arrays import hash_arrays
from arctic.writing.route import number_partitions

TASK_COLUMN = "_arctic_task"
"""Helper column of a shuffled frame: the task a row was sent to. Never reaches the table."""
ARRIVAL_COLUMN = "_arctic_arrival"
"""Helper column of a shuffled frame: the order of its rows before the shuffle."""
ROW_HASH_COLUMN = "_arctic_row_hash"
"""What divides rows without a key: a hash of all that is in them. No column of any frame."""
HELPER_COLUMNS = (TASK_COLUMN, ARRIVAL_COLUMN)


def describe_row(row: int) -> str:
    """Say which row an error is about: of those that a task of Spark has at a time."""
    return f"row {row} of a batch"


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
    partition_path: Callable[[Partition], str]
    """As that of a ``WriteTarget``."""
    shares: PartitionShares = field(default_factory=PartitionShares)
    """What part of the rows partitions are thought to have."""
    deepens: bool = False
    """Whether hot partitions may have nodes of their own depth."""
    may_stay: bool = False
    """Whether the rows are right without it, and it only keeps the number of files down."""
    hot: tuple[HotPartition, ...] = ()
    """Partitions whose tasks are chosen; see ``for_tasks``."""
    grown_nodes: int = 0
    """Of a table without partitions, where they are more than the mask's: nodes of the widest
    complete level of its tree. Each leaf is in one of them, so tasks can own that many."""

    def for_tasks(self, task_count: int) -> ShufflePlan:
        """Return the plan for so many tasks: hot partitions get several, grown tables use all."""
        # Not more than the tasks are worth: each node has files of its own.
        nodes = min(self.grown_nodes, 1 << (task_count - 1).bit_length())
        if nodes > self.mask + 1:
            return replace(self, mask=nodes - 1, grown_nodes=nodes)
        if self.partition_arrays is None or not self.shares.shares:
            return self
        hot = hot_partitions(
            self.shares,
            task_count=task_count,
            nodes=self.mask + 1 if self.key else None,
            deepens=self.deepens,
        )
        return replace(self, hot=hot)

    @property
    def deep_nodes(self) -> Mapping[str, int]:
        """How many nodes files of a partition go to, by its path, where they are more."""
        if self.grown_nodes == self.mask + 1:
            return {self.partition_path(()): self.grown_nodes}
        return {
            each.path: each.parts for each in self.hot if self.key and each.parts > self.mask + 1
        }

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
                cast_column(column, field.type, field.name, describe_row)
                for column, field in zip(columns, self.schema, strict=True)
            ],
            schema=self.schema,
        )
        parts = self._parts(batch)
        place = parts & self.mask if self.key else np.zeros(batch.num_rows, dtype=np.int64)
        arrays = [] if self.partition_arrays is None else self.partition_arrays(batch)
        for values in arrays:
            place = (place * 31 + _fingerprints(values)) & 0x7FFFFFFF
        tasks = place % task_count
        if self.hot and batch.num_rows:
            by_path = {each.path: each for each in self.hot}
            partitions = number_partitions(arrays)
            for code, value in enumerate(partitions.values):
                hot = by_path.get(self.partition_path(value))
                if hot is not None:
                    rows = partitions.codes == code
                    tasks[rows] = (hot.first_task + parts[rows] % hot.parts) % task_count
        return pa.array(tasks.astype(np.int32))

    def _parts(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return what divides a partition: the hash of the key, or of the whole row."""
        if self.key:
            return hash_arrays([batch.column(name) for name in self.key], self.key_types)
        if ROW_HASH_COLUMN in self.columns:
            return np.asarray(batch.column(ROW_HASH_COLUMN).to_numpy(zero_copy_only=False))
        return np.zeros(batch.num_rows, dtype=np.int64)


def _fingerprints(values: pa.Array) -> npt.NDArray[np.int64]:
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    distinct = np.array(
        [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )
    numbers: npt.NDArray[np.int64] = distinct[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers
