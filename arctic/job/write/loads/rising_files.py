"""Loads out of Parquet files in the order of the key: who reads and writes which row groups.

Strategy: a load is mostly read from files that were written in the order of its key, each of them
or all together. Their footers say what range of keys each row group has. Where no two have one in
common, row groups in the order of their ranges are all rows in the order of the key, and neighbours
go to one task: no row need be sent to another, or sorted.

Rules:
    - The footers only say where to look: that keys rise is seen while the rows are read.
    - Tasks have files in all nodes, so they are only so many that these are no fragments.

Must not know: Spark, how rows become files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.job.write.loads.file_shares import FileShare, WholeFiles, all_footers
from arctic.job.write.loads.first_load import EMPTY
from arctic.job.write.loads.source_footers import KeyedGroup, source_footer
from arctic.job.write.write_job import WriteJob
from arctic.mor.files.parquet_footer import Size
from arctic.writing.write_request import WriteMode

_ROUNDS = 3
"""Tasks for each core at most: enough to even out their speeds."""


def may_rise(job: WriteJob) -> bool:
    """Say whether the rows of a write need only rise by their keys to be written as they come."""
    target, request = job.target, job.request
    table = target.table
    is_load = request.mode is WriteMode.OVERWRITE or _adds_to_nothing(job)
    if not table.is_keyed or not is_load or job.work.is_done:
        return False
    if table.partition_fields or target.options.trees or request.knows_places:
        return False
    return not target.has_floating_key


def _adds_to_nothing(job: WriteJob) -> bool:
    return job.request.mode is WriteMode.APPEND and job.on_top_of == EMPTY


def rising_shares(
    job: WriteJob, files: WholeFiles, incoming: pa.Schema, *, parallelism: int
) -> tuple[FileShare, ...] | None:
    """Return the tasks that read and write some files; None: the rows are not known to rise.

    Args:
        job: a write that ``may_rise``.
        files: all of its rows.
        incoming: the columns of its rows.
        parallelism: tasks that run at the same time.
    """
    key = job.target.key
    own = job.target.schema
    if any(incoming.field(name).type != own.field(name).type for name in key):
        return None
    sources, stored = files.sources(incoming), files.stored(incoming)
    first = sources[key[0]]

    def footer(file: int, open_file: Callable[[str], Any]) -> tuple[Size, list[KeyedGroup]] | None:
        return source_footer(files.paths[file], open_file, stored, first, file=file)

    found = all_footers(job, files, footer)
    if found is None:
        return None
    sizes, groups = found
    ordered = in_order_of_keys(groups)
    if not ordered:
        return None
    tasks = _task_count(job, files.size_bytes, parallelism)
    return tuple(
        FileShare(
            number=number,
            parts=tuple(
                (files.paths[file], sizes[file], tuple(each.number for each in some))
                for file, some in groupby(share, key=lambda group: group.file)
            ),
            columns=incoming,
            sources=tuple(sources.values()),
            rows=sum(group.rows for group in share),
        )
        for number, share in enumerate(divided(ordered, tasks))
    )


def in_order_of_keys(groups: Iterable[KeyedGroup]) -> tuple[KeyedGroup, ...] | None:
    """Return row groups in the order of their keys; None: ranges have something in common.

    Neighbours in a file may: where the key has several columns, the first one goes on in the next.
    """
    ordered = sorted(groups, key=lambda each: (each.least, each.greatest, each.file, each.number))
    for before, after in pairwise(ordered):
        follows = (before.file, before.number + 1) == (after.file, after.number)
        if before.greatest > after.least or (before.greatest == after.least and not follows):
            return None
    return tuple(ordered)


def divided(groups: Sequence[KeyedGroup], most: int) -> list[list[KeyedGroup]]:
    """Divide row groups into runs of about as many rows each.

    Args:
        groups: in order.
        most: runs, at least 1.
    """
    total, before = sum(group.rows for group in groups), 0
    shares: dict[int, list[KeyedGroup]] = {}
    for group in groups:
        # Where the middle of it lies.
        place = (2 * before + group.rows) * most // (2 * total)
        shares.setdefault(place, []).append(group)
        before += group.rows
    return list(shares.values())


def _task_count(job: WriteJob, size_bytes: int, parallelism: int) -> int:
    """Return how many tasks write no fragments, as far as that can be.

    Each writes a file for every node, as one task of a shuffled write does in all.
    """
    properties = job.target.table.properties
    target_bytes = opt.OPTIMIZE_TARGET_SIZE.value({}, properties)
    fragment = target_bytes // opt.FRAGMENT_RATIO.value({}, properties)
    options = job.target.options
    mask = options.base_mask if job.request.mode is WriteMode.OVERWRITE else options.change_mask
    most = max(1, size_bytes // ((mask + 1) * fragment))
    if job.max_tasks is not None:
        most = min(most, job.max_tasks)
    # Rounds that are full, so that no core waits for the last task.
    return most if most < parallelism else min(most // parallelism, _ROUNDS) * parallelism
