"""How the rows of one write are spread over tasks.

Rules:
    - Where the key decides the partition (or the caller vouches that it never changes), rows are
      spread by (partition, node); else by node alone, because only the key is sure to stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic import options as opt
from arctic.iceberg.open_table import OpenTable
from arctic.job.shuffle import ROW_HASH_COLUMN, ShufflePlan
from arctic.table.hot_partitions import PartitionShares
from arctic.tree.node import bucket_mask


def plan_shuffle(
    opened: OpenTable,
    options: Mapping[str, str],
    *,
    mode: str,
    columns: Sequence[str],
    looks_up: bool,
) -> ShufflePlan | None:
    """Decide how the rows of a write are spread; None: they may stay where they are.

    Args:
        opened: the table that is written to.
        options: write options.
        mode: append, upsert, delete or overwrite.
        columns: the columns of the frame.
        looks_up: tasks search for the stored rows of their keys, so each key has one task, whatever
            partition its rows say.
    """
    table = opened.table
    if not table.is_keyed and not table.partition_fields:
        return None
    stable = opt.CROSS_PARTITION.value(options, table.properties) == "assume-stable"
    stays = stable or not table.is_keyed or mode == "append"
    by_partition = bool(table.partition_fields) and (
        table.partition_follows_key or (stays and not looks_up)
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
    shares = opt.SHARES.value(options) if by_partition else None
    fields = [opened.arrow_schema.field(name).with_nullable(True) for name in used]
    if shares is not None and not table.is_keyed:
        fields.append(pa.field(ROW_HASH_COLUMN, pa.int64()))
    return ShufflePlan(
        columns=tuple(field.name for field in fields),
        schema=pa.schema(fields),
        sort_columns=(
            *(table.primary_key if mode == "overwrite" else ()),
            *((ordering,) if ordering else ()),
        ),
        max_tasks=None if by_partition else buckets,
        key=table.primary_key,
        key_types=tuple(column.type for column in table.key_columns),
        mask=bucket_mask(buckets, subject=f"table {table.name!r}: bucket count"),
        partition_arrays=opened.partitioner.arrays if by_partition else None,
        partition_path=opened.partitioner.path,
        shares=PartitionShares() if shares is None else PartitionShares.parse(shares),
        # Where keys move, deletes go to partitions that the shuffle knows nothing of.
        deepens=table.partition_follows_key,
    )
