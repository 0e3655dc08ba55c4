"""One run of optimizing from beginning to end, and the look at a table that comes before it.

Rules:
    - What is due is decided on one pinned state, carried out, and committed only if the partitions
      are still as they were. Who overwrote one of them wins, and the run is planned again.
    - Files of a run that lost its commit are deleted. Where a task fails, it removes its own; what
      other tasks had finished stays, and nothing refers to it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InvalidInputError,
    StorageError,
)
from arctic.iceberg.commit import CommitResult
from arctic.iceberg.commit_rewrite import commit_rewrite
from arctic.iceberg.filters import parse_filter
from arctic.iceberg.manifests import list_files
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.optimized_times import OptimizedTimes, optimized_times
from arctic.iceberg.pin import pin
from arctic.iceberg.refresh import refresh
from arctic.job.prepare_write import write_target
from arctic.job.reference import TableReference, parse_reference
from arctic.job.run_tasks import Progress, Task, TaskRunner
from arctic.job.scan_job import merge_request
from arctic.mor.field_ids import child_fields
from arctic.optimize.evaluate import LastTimes, evaluate
from arctic.optimize.execute import OptimizeJob
from arctic.optimize.health import measure
from arctic.optimize.ordered_rows import RowOrder
from arctic.optimize.partition_files import PartitionFiles, files_by_partition
from arctic.optimize.plan import OptimizePlan, plan_optimize
from arctic.optimize.report import (
    OptimizedPartition,
    OptimizeReport,
    PartitionStatus,
    StoreCounts,
    TableStatus,
)
from arctic.optimize.settings import OptimizeSettings, OptimizeType
from arctic.optimize.task import OptimizeResult
from arctic.options import Scope
from arctic.table.commit_plan import PartitionRewrite, RewriteBase
from arctic.table.files import Partition, WrittenFile
from arctic.table.snapshot import TableSnapshot

_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """A pinned table, and what its partitions consist of."""

    opened: OpenTable
    snapshot: TableSnapshot
    settings: OptimizeSettings
    partitions: tuple[PartitionFiles, ...]
    times: OptimizedTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """A partition that is worked on."""

    files: PartitionFiles
    type: OptimizeType
    reason: str


def table_status(options: Mapping[str, str], *, where: Any = None) -> TableStatus:
    """Look at a table: what it consists of, and what is due.

    Args:
        options: ``path``, catalog options and ``self-optimizing.*``.
        where: only the partitions that can hold such rows.

    Raises:
        NotFoundError: an unknown table.
        InvalidInputError: an option or a filter that cannot be understood.
    """
    survey = _survey(options, where, for_writing=False)
    return TableStatus(
        table=survey.opened.table.name,
        partitions=tuple(_status(files, survey) for files in survey.partitions),
    )


def optimize_table(
    options: Mapping[str, str],
    *,
    type: str | None,
    where: Any,
    runner: TaskRunner,
    progress: Progress,
) -> OptimizeReport:
    """Optimize a table, or some of its partitions.

    Args:
        options: ``path``, catalog options and ``self-optimizing.*``.
        type: ``minor``, ``major`` or ``full`` for every partition; None: what is due in each.
        where: only the partitions that can hold such rows.
        runner: where tasks run.
        progress: is told what is done.

    Raises:
        NotFoundError: an unknown table.
        InvalidInputError: a type, an option or a filter that cannot be understood.
        UnsupportedError: content that would be read wrongly.
        ConflictError: other writers won every attempt.
        CommitStateUnknownError: the catalog did not answer; the files stay.
    """
    started = time.monotonic()
    kind = _type(type)
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        survey = _survey(options, where, for_writing=True)
        chosen = _chosen(survey, kind)
        plan = plan_optimize(
            [(each.files, each.type) for each in chosen],
            table=survey.opened.table,
            settings=survey.settings,
            parallelism=runner.parallelism,
        )
        try:
            results = _run(survey, plan, options, runner=runner, progress=progress)
            commit = _commit(survey, plan, results)
        except (ConflictError, StorageError):
            # A file that is gone was replaced by a commit since, and expired.
            if attempt == _MAX_ATTEMPTS or not _has_moved_on(survey):
                raise
            continue
        break
    return _report(
        survey, plan, chosen, results, commit, attempts=attempt, seconds=time.monotonic() - started
    )


def _survey(options: Mapping[str, str], where: Any, *, for_writing: bool) -> _Survey:
    opt.check_known(options, Scope.OPTIMIZE)
    reference = _table_reference(options)
    opened, snapshot = _pinned(reference, for_writing=for_writing)
    settings = OptimizeSettings.of(options, opened.table.properties)
    files = list_files(
        opened,
        snapshot,
        field_ids=tuple(column.field_id for column in opened.table.key_columns),
        row_filter=None if where is None else parse_filter(where, opened),
    )
    return _Survey(
        opened=opened,
        snapshot=snapshot,
        settings=settings,
        partitions=files_by_partition(
            base=files.base,
            position_deletes=files.position_deletes,
            change=files.change,
            snapshot=snapshot,
            max_change_files=settings.max_change_files,
        ),
        times=optimized_times(opened, snapshot),
    )


def _pinned(reference: TableReference, *, for_writing: bool) -> tuple[OpenTable, TableSnapshot]:
    """Open a table and pin its state, with every column that rows of that state can have."""
    for _ in range(_MAX_ATTEMPTS):
        opened = open_table(reference.config, reference.identifier, for_writing=for_writing)
        snapshot = pin(opened)
        if opened.is_described:
            return opened, snapshot
    raise ConflictError(
        f"table {reference.identifier!r}: its columns changed {_MAX_ATTEMPTS} times while it was "
        "opened; try again"
    )


def _table_reference(options: Mapping[str, str]) -> TableReference:
    reference = parse_reference(options)
    if reference.metadata_table is not None:
        raise InvalidInputError(
            f"{options['path']!r} is a metadata table of {reference.identifier!r}; name the table"
        )
    return reference


def _type(name: str | None) -> OptimizeType | None:
    if name is None:
        return None
    try:
        return OptimizeType(name.strip().lower())
    except (ValueError, AttributeError):
        known = ", ".join(each.value for each in OptimizeType)
        raise InvalidInputError(
            f"optimize type {name!r}; expected one of {known}, or none for what is due"
        ) from None


def _status(files: PartitionFiles, survey: _Survey) -> PartitionStatus:
    health = measure(files, survey.settings)
    times = _times(survey.times, files.partition)
    verdict = evaluate(
        health,
        times=times,
        settings=survey.settings,
        is_keyed=survey.opened.table.is_keyed,
        now_ms=time.time_ns() // 1_000_000,
    )
    return PartitionStatus(
        partition=survey.opened.partitioner.path(files.partition),
        health=health,
        verdict=verdict,
        merged_up_to=files.merged_up_to,
        times=times,
    )


def _times(times: OptimizedTimes, partition: Partition) -> LastTimes:
    return LastTimes(
        any_ms=times.any_ms.get(partition, times.table_any_ms),
        full_ms=times.full_ms.get(partition, times.table_full_ms),
        first_ms=times.first_ms,
    )


def _chosen(survey: _Survey, kind: OptimizeType | None) -> list[_Chosen]:
    if kind is not None:
        return [_Chosen(files=files, type=kind, reason="asked for") for files in survey.partitions]
    verdicts = [(files, _status(files, survey).verdict) for files in survey.partitions]
    return [
        _Chosen(files=files, type=verdict.type, reason=verdict.reason)
        for files, verdict in verdicts
        if verdict.type is not None
    ]


def _run(
    survey: _Survey,
    plan: OptimizePlan,
    options: Mapping[str, str],
    *,
    runner: TaskRunner,
    progress: Progress,
) -> list[OptimizeResult]:
    job = _job(survey, options)
    return runner.run(
        job.run,
        [Task(value=group, rows=group.record_count) for group in plan.groups],
        title=f"optimize {survey.opened.table.name}",
        progress=progress,
    )


def _job(survey: _Survey, options: Mapping[str, str]) -> OptimizeJob:
    opened = survey.opened
    return OptimizeJob(
        request=merge_request(opened, options, schema=opened.arrow_schema, row_filter=None),
        target=write_target(opened, options),
        order=RowOrder(
            fields=_order_fields(opened, options),
            sorts=_sort_columns(opened, options) is not None,
            buffer_bytes=opt.SORT_BUFFER_BYTES.value(options, opened.table.properties),
            fragment_bytes=survey.settings.fragment_bytes,
        ),
        open_file=opened.io.open_input,
    )


def _sort_columns(opened: OpenTable, options: Mapping[str, str]) -> tuple[str, ...] | None:
    return opt.SORT_COLUMNS.value(options, opened.table.properties)


def _order_fields(opened: OpenTable, options: Mapping[str, str]) -> tuple[pa.Field, ...]:
    """Return the columns that order rows: the sort columns, then the key, so that no rows tie."""
    schema, key = opened.arrow_schema, opened.table.primary_key
    names = _sort_columns(opened, options) or ()
    for name in names:
        if name not in schema.names or child_fields(schema.field(name).type):
            raise InvalidInputError(
                f"{opt.SORT_COLUMNS.name} of table {opened.table.name!r}: {name!r} is no column "
                f"that can be sorted by; it has {', '.join(schema.names)}"
            )
    return tuple(schema.field(name) for name in dict.fromkeys((*names, *key)))


def _commit(
    survey: _Survey, plan: OptimizePlan, results: Sequence[OptimizeResult]
) -> CommitResult | None:
    files = tuple(file for result in results for file in result.files)
    kinds = {each.type for each in plan.partitions}
    rewrite = RewriteBase(
        files=files,
        removed_paths=frozenset[str]().union(*(each.removed_paths for each in plan.partitions)),
        partitions=tuple(
            PartitionRewrite(
                partition=each.files.partition,
                found_paths=each.files.store_paths,
                found_sequence=each.files.merged_up_to,
                merged_up_to=each.merged_up_to,
                is_full=each.type is OptimizeType.FULL,
            )
            for each in plan.partitions
        ),
        planned_at=survey.snapshot.base_snapshot_id,
        changes_rows=any(each.advances for each in plan.partitions),
        summary={"arctic.optimize-type": ",".join(sorted(kind.value for kind in kinds))},
    )
    if not plan.partitions:
        return None
    try:
        return commit_rewrite(survey.opened, rewrite)
    except CommitStateUnknownError:
        raise
    except ArcticError:
        survey.opened.io.delete_quietly([file.path for file in files])
        raise


def _has_moved_on(survey: _Survey) -> bool:
    head = refresh(survey.opened.base)
    return bool(head.metadata.current_snapshot_id != survey.snapshot.base_snapshot_id)


def _report(
    survey: _Survey,
    plan: OptimizePlan,
    chosen: Sequence[_Chosen],
    results: Sequence[OptimizeResult],
    commit: CommitResult | None,
    *,
    attempts: int,
    seconds: float,
) -> OptimizeReport:
    files: list[WrittenFile] = [file for result in results for file in result.files]
    reasons: Mapping[Partition, str] = {each.files.partition: each.reason for each in chosen}
    path = survey.opened.partitioner.path
    return OptimizeReport(
        table=survey.opened.table.name,
        snapshot_id=None if commit is None else commit.snapshot_id,
        partitions=tuple(
            OptimizedPartition(
                partition=path(each.files.partition),
                type=each.type,
                reason=reasons[each.files.partition],
                merged_up_to=each.merged_up_to,
            )
            for each in plan.partitions
        ),
        before=StoreCounts.before(each.files for each in plan.partitions),
        after=StoreCounts.after(plan.partitions, files),
        rows_written=sum(result.rows_written for result in results),
        rows_deleted=sum(result.rows_marked for result in results),
        bytes_written=sum(file.size_bytes for file in files),
        tasks=len(plan.groups),
        attempts=attempts,
        seconds=seconds,
    )
