"""Results of all tasks become what the catalog is asked to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from arctic.errors import InternalError
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.files import Partition, WrittenFile
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import Watermark
from arctic.writing.target import TaskResult


def plan_append(
    results: Iterable[TaskResult],
    *,
    summary: Mapping[str, str],
    on_top_of: TableSnapshot | None = None,
    removed_paths: frozenset[str] = frozenset(),
    batch: StreamBatch | None = None,
    watermark: Watermark | None = None,
) -> AppendFiles:
    """Plan the one snapshot that makes a write visible.

    Args:
        results: one for each task, in any order.
        summary: extra snapshot summary entries.
        on_top_of: commit only while the rows are those of this state.
        removed_paths: files of base that go with it.
        batch: commit only if it has not landed.
        watermark: how far event time has come with the files.

    Raises:
        InternalError: two results for one input partition, whose offsets would overlap.
    """
    return AppendFiles(
        files=_files(results),
        summary=summary,
        on_top_of=on_top_of,
        removed_paths=removed_paths,
        batch=batch,
        watermark=watermark,
    )


def plan_overwrite(
    results: Iterable[TaskResult],
    *,
    dynamic: bool,
    where: Predicate | None = None,
    planned_at: int | None,
    change_sequence_number: int | None,
    must_be_newest_change: bool,
    change_partitions: frozenset[Partition],
    summary: Mapping[str, str],
    batch: StreamBatch | None = None,
    watermark: Watermark | None = None,
) -> OverwriteBase:
    """Plan the one base snapshot that replaces the table, or some of its partitions.

    Args:
        results: one for each task, in any order.
        dynamic: replace only the partitions that were written to.
        where: replace only the partitions for which it holds.
        planned_at: the base snapshot that the write began with; None: there was none.
        change_sequence_number: changes up to it, inclusive, are replaced too; None: unkeyed.
        must_be_newest_change: refuse once there are newer changes.
        change_partitions: partitions that have such changes.
        summary: extra snapshot summary entries.
        batch: commit only if it has not landed.
        watermark: how far event time has come with the files.

    Raises:
        InternalError: two results for one input partition, whose rows would be doubled.
    """
    return OverwriteBase(
        files=_files(results),
        dynamic=dynamic,
        where=where,
        planned_at=planned_at,
        change_sequence_number=change_sequence_number,
        must_be_newest_change=must_be_newest_change,
        change_partitions=change_partitions,
        summary=summary,
        batch=batch,
        watermark=watermark,
    )


def _files(results: Iterable[TaskResult]) -> tuple[WrittenFile, ...]:
    ordered = sorted(results, key=lambda result: result.task.partition_id)
    for before, after in pairwise(ordered):
        if before.task.partition_id == after.task.partition_id:
            raise InternalError(
                f"two results for input partition {after.task.partition_id}: tasks "
                f"{before.task.task_id} and {after.task.task_id}; expected one"
            )
    return tuple(file for result in ordered for file in result.files)
