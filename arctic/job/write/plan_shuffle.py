"""How the rows of one write are spread over tasks, and what it does differently then.

Rules:
    - Where the key decides the partition (or the caller vouches that it never changes), rows are
      spread by (partition, node); else by node alone, because only the key is sure to stay.
    - A table without partitions has as many tasks as its tree has nodes, not only as it had when it
      was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from arctic import options as opt
from arctic.columns.cast import cast_column
from arctic.errors import ArcticError
from arctic.iceberg.snapshots.list_files import list_added
from arctic.job.write.shuffle import (
    ARRIVAL_COLUMN,
    ROW_HASH_COLUMN,
    TASK_COLUMN,
    ShufflePlan,
    describe_row,
)
from arctic.job.write.write_job import WriteJob
from arctic.table.hot_partitions import PartitionShares
from arctic.table.node_trees import read_tree
from arctic.tree.node import bucket_mask
from arctic.writing.route import number_partitions
from arctic.writing.target import WriteTarget
from arctic.writing.write_request import WriteMode
from arctic.writing.writer import plan_write

_LEARNT_COMMITS = 4
"""So many of the newest say how rows are spread over partitions: a manifest each, at most."""


def plan_shuffle(
    job: WriteJob, columns: Sequence[str], *, shares: PartitionShares | None = None
) -> ShufflePlan | None:
    """Decide how the rows of a write are spread; None: they may stay where they are.

    Args:
        job: the write, as it began.
        columns: of its rows.
        shares: what part of the rows partitions are thought to have; None: nobody knows.
    """
    target, mode = job.target, job.request.mode
    table = target.table
    if not _has_places(job):
        return None
    stays = job.assume_stable or not table.is_keyed or mode is WriteMode.APPEND
    # Tasks that search for the stored rows of their keys: each key has one task, whatever
    # partition its rows say.
    looks_up = job.locator is not None
    by_partition = bool(table.partition_fields) and (
        table.partition_follows_key or (stays and not looks_up)
    )
    by_partition = by_partition and all(name in columns for name in target.partition_sources)
    sources = target.partition_sources if by_partition else ()
    used = tuple(dict.fromkeys((*table.primary_key, *sources)))
    is_overwrite = mode is WriteMode.OVERWRITE
    buckets = (opt.BASE_BUCKETS if is_overwrite else opt.CHANGE_BUCKETS).value({}, table.properties)
    request = job.request
    ordering = (request.ordering_column,) if request.ordering_column else ()
    if is_overwrite:
        # Changes need not come in the table's order: each is held against all others anyway.
        ordering = (*request.stored_order, *ordering)
    grown_nodes = 0 if table.partition_fields else _complete_nodes(job.target)
    grown_nodes = grown_nodes if grown_nodes > buckets else 0
    known = shares if by_partition else None
    fields = [target.schema.field(name).with_nullable(True) for name in used]
    if known is not None and not table.is_keyed:
        fields.append(pa.field(ROW_HASH_COLUMN, pa.int64()))
    return ShufflePlan(
        columns=tuple(field.name for field in fields),
        schema=pa.schema(fields),
        sort_columns=(
            *(table.primary_key if is_overwrite else ()),
            *ordering,
        ),
        max_tasks=None if by_partition else max(buckets, grown_nodes),
        key=table.primary_key,
        key_types=target.key_types,
        mask=bucket_mask(buckets, subject=f"table {table.name!r}: bucket count"),
        partition_arrays=target.partition_arrays if by_partition else None,
        partition_path=target.partition_path,
        shares=known or PartitionShares(),
        # Where keys move, deletes go to partitions that the shuffle knows nothing of.
        deepens=table.partition_follows_key,
        may_stay=job.batch is None and not job.is_joined and _may_stay(job),
        grown_nodes=grown_nodes,
    )


def suits_one_task(job: WriteJob) -> bool:
    """Say whether one task may write all rows that are to be sent to the tasks of their keys.

    It takes no more memory for it than each of those, and searches for no stored row.
    """
    if job.locator is not None or job.batch is not None or job.is_joined:
        return False
    is_sorted = job.target.table.is_keyed and job.request.mode is WriteMode.OVERWRITE
    if is_sorted and not job.target.sorts_in_runs:
        return False
    return _has_places(job) and not _may_stay(job)


def learnt_shares(job: WriteJob) -> PartitionShares | None:
    """Return what part of the rows partitions had in the newest commits of a table.

    An overwrite goes by those of the base store: they are overwrites too, where it comes each day.

    Returns:
        What is known; None: there is nothing to learn from, as before the first write. A write goes
        on without what cannot be read.
    """
    opened = job.opened
    if opened is None:
        return None
    in_base = opened.change is None or job.request.mode is WriteMode.OVERWRITE
    store = opened.base if in_base or opened.change is None else opened.change
    newest: list[Any] = []
    snapshot = store.metadata.current_snapshot()
    while snapshot is not None and len(newest) < _LEARNT_COMMITS:
        newest.append(snapshot)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else store.metadata.snapshot_by_id(parent)
    if not newest:
        return None
    numbers = [each.sequence_number or 0 for each in newest]
    rows = Counter[str]()
    with suppress(ArcticError):
        for file in list_added(
            opened,
            in_base=in_base,
            snapshot_id=newest[0].snapshot_id,
            added_by={each.snapshot_id for each in newest},
            after_sequence=min(numbers) - 1,
            field_ids=(),
        ):
            rows[job.target.partition_path(file.partition)] += file.record_count
    return PartitionShares().after(rows) if rows else None


def shares_of(rows: pa.Table, target: WriteTarget) -> PartitionShares:
    """Return what part of some rows partitions have.

    Args:
        rows: any of a write, with the columns ``target.partition_sources``.
        target: a table with partitions.

    Raises:
        InvalidInputError: a value that the table's column cannot have.
    """
    if not rows.num_rows:
        return PartitionShares()
    fields = [target.schema.field(name).with_nullable(True) for name in target.partition_sources]
    columns = [
        cast_column(rows[field.name].combine_chunks(), field.type, field.name, describe_row)
        for field in fields
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
    partitions = number_partitions(target.partition_arrays(batch))
    counts = np.bincount(partitions.codes).tolist()
    paths = map(target.partition_path, partitions.values)
    return PartitionShares().after(dict(zip(paths, counts, strict=True)))


def spread_job(job: WriteJob, incoming: pa.Schema, *, deep_nodes: Mapping[str, int]) -> WriteJob:
    """Return a write whose rows a shuffle brings to their tasks, in order.

    Args:
        job: as it began.
        incoming: the columns of the rows, helper columns included.
        deep_nodes: what ``ShufflePlan.deep_nodes`` says of the plan that was carried out.
    """
    table, work = job.target.table, job.work
    request = replace(
        work.request,
        arrival_column=ARRIVAL_COLUMN,
        ignored_columns=(TASK_COLUMN,),
        # Spark sorts a negative zero as equal to zero.
        sorted_input=not job.target.has_floating_key
        or work.request.mode is not WriteMode.OVERWRITE,
    )
    deep = {
        path: bucket_mask(count, subject=f"nodes of partition {path!r}")
        for path, count in deep_nodes.items()
    }
    target = replace(job.target, options=replace(job.target.options, deep_masks=deep))
    # That the rows can find what is stored was seen when the write began.
    conform = plan_write(table, target.schema, incoming, request=request, locates=True)
    conform = replace(conform, event_time=work.conform.event_time)
    return replace(job, work=replace(work, target=target, request=request, conform=conform))


def _complete_nodes(target: WriteTarget) -> int:
    """Return how many nodes the widest complete level of an unpartitioned table's tree has."""
    text = target.options.trees.get(target.partition_path(()))
    return 0 if text is None else 1 << read_tree(text).complete_depth


def _has_places(job: WriteJob) -> bool:
    """Say whether files of the table are of a node or a partition, so that rows belong together."""
    table = job.target.table
    return table.is_keyed or bool(table.partition_fields)


def _may_stay(job: WriteJob) -> bool:
    """Say whether tasks that do not own their keys write a keyed table's rows as well.

    The rows are right then, and of a key that several tasks wrote the last task's row stays. Where
    keys are looked up that is not enough: each task would search all nodes for its keys.
    """
    table = job.target.table
    looks = job.target.keys_move or job.locator is not None
    return table.is_keyed and not looks and not job.request.must_own_keys(table)
