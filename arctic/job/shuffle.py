"""Which task a row must go to, so that one task owns all events of a key.

Rules:
    - Where the key decides the partition (or the caller vouches that it never changes), rows are
      spread by (partition, node); else by node alone, because only the key is sure to stay.
    - Ids are computed from the table's types: an int of the frame hashes as the long it will be.
    - Any assignment is right as long as equal keys meet; this one also sends each (partition,
      node) to a single task, which is what bounds the number of files.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic import options as opt
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.partitioning import Partitioner
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import bucket_mask

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
    partitioner: Partitioner | None
    """None: the partition does not take part."""
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
        if self.partitioner is not None:
            for values in self.partitioner.arrays(batch):
                place = (place * 31 + _fingerprints(values)) & 0x7FFFFFFF
        return pa.array((place % task_count).astype(np.int32))


def plan_shuffle(
    opened: OpenTable, options: Mapping[str, str], *, mode: str, columns: Sequence[str]
) -> ShufflePlan | None:
    """Decide how the rows of a write are spread; None: they may stay where they are.

    Args:
        opened: the table that is written to.
        options: write options.
        mode: append, upsert, delete or overwrite.
        columns: the columns of the frame.
    """
    table = opened.table
    if not table.is_keyed and not table.partition_fields:
        return None
    stable = opt.CROSS_PARTITION.value(options, table.properties) == "assume-stable"
    by_partition = bool(table.partition_fields) and (
        table.partition_follows_key or stable or not table.is_keyed or mode == "append"
    )
    sources = (
        tuple(column.name for column in table.partition_source_columns) if by_partition else ()
    )
    by_partition = by_partition and all(name in columns for name in sources)
    used = tuple(dict.fromkeys((*table.primary_key, *(sources if by_partition else ()))))
    buckets = (opt.BASE_BUCKETS if mode == "overwrite" else opt.CHANGE_BUCKETS).value(
        {}, table.properties
    )
    ordering = opt.ORDERING_COLUMN.value(options)
    return ShufflePlan(
        columns=used,
        schema=pa.schema([opened.arrow_schema.field(name).with_nullable(True) for name in used]),
        sort_columns=(
            *(table.primary_key if mode == "overwrite" else ()),
            *((ordering,) if ordering else ()),
        ),
        max_tasks=None if by_partition else buckets,
        key=table.primary_key,
        key_types=tuple(column.type for column in table.key_columns),
        mask=bucket_mask(buckets, subject=f"table {table.name!r}: bucket count"),
        partitioner=opened.partitioner if by_partition else None,
    )


def _fingerprints(values: pa.Array) -> npt.NDArray[np.int64]:
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    distinct = np.array(
        [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )
    numbers: npt.NDArray[np.int64] = distinct[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers
