"""One run of optimizing from beginning to end.

Rules:
    - What is due is decided on one pinned state, carried out, and committed only if the partitions
      are still as they were. Who overwrote one of them wins, and the run is planned again.
    - Files of a run that lost its commit are deleted. Where a task fails, it removes its own; what
      other tasks had finished stays, and nothing refers to it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    StorageError,
)
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.commits.commit_rewrite import commit_rewrite
from arctic.iceberg.values.layout.sort_order import order_id
from arctic.job.read.plan_rows import merge_request
from arctic.job.tasks.open_ahead import opened_ahead
from arctic.job.tasks.run_tasks import Progress, Task, TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.chosen_partitions import (
    ChosenPartition,
    chosen_partitions,
    optimize_type,
)
from arctic.job.upkeep.merged_watermark import merged_watermark
from arctic.job.upkeep.optimize_attempt import OptimizeAttempt, all_done
from arctic.job.upkeep.survey import Survey, survey_table
from arctic.job.write.target_table import write_target
from arctic.optimizing.execute import OptimizeJob
from arctic.optimizing.optimize_task import OptimizeResult
from arctic.optimizing.planning.plan_run import OptimizePlan, plan_optimize
from arctic.optimizing.report import (
    OptimizedPartition,
    OptimizeReport,
    StoreCounts,
)
from arctic.optimizing.settings import OptimizeType
from arctic.optimizing.sorting.ordered_rows import RowOrder
from arctic.options.sort_terms import SortTerm, sort_text
from arctic.retry import WHERE_OUTRUN
from arctic.table.commit_plan import PartitionRewrite, RewriteBase
from arctic.table.files import Partition, WrittenFile
from arctic.table.property_names import OPTIMIZE_TYPE


def optimize_table(
    asked: AskedOptimize,
    *,
    type: str | None,
    where: Any,
    runner: TaskRunner,
    progress: Progress,
) -> OptimizeReport:
    """Optimize a table, or some of its partitions.

    Args:
        asked: what the options say.
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
    kind = optimize_type(type)
    for attempt in WHERE_OUTRUN.tries():
        survey = survey_table(asked, where, for_writing=True)
        chosen = chosen_partitions(survey, kind)
        plan = plan_optimize(
            [(each.files, each.type) for each in chosen],
            table=survey.opened.table,
            settings=survey.settings,
            parallelism=runner.parallelism,
            sort_column=survey.sort_column,
        )
        try:
            began = time.monotonic()
            results = run_plan(survey, plan, asked, runner=runner, progress=progress)
            run_ms = int(1_000 * (time.monotonic() - began))
            commit = _commit(survey, plan, results, run_ms=run_ms, is_whole=where is None)
        except (ConflictError, StorageError) as error:
            # A file that is gone was replaced by a commit since, and expired.
            if not _has_moved_on(survey):
                raise
            outrun = error
        else:
            seconds = time.monotonic() - started
            return _report(
                survey, plan, chosen, results, commit, attempts=attempt + 1, seconds=seconds
            )
    raise ConflictError(
        f"table {survey.opened.table.name!r}: other commits won {WHERE_OUTRUN.most_tries} attempts "
        f"to optimize it; optimize again ({outrun.message})"
    ) from outrun


def run_plan(
    survey: Survey,
    plan: OptimizePlan,
    asked: AskedOptimize,
    *,
    runner: TaskRunner,
    progress: Progress,
) -> list[OptimizeResult]:
    """Carry out the tasks of a plan; nobody refers to what they make yet."""
    job = _job(survey, asked, tasks=min(runner.parallelism, max(1, len(plan.groups))))
    outcomes = runner.run(
        OptimizeAttempt(job).run,
        [Task(value=group, rows=group.record_count) for group in plan.groups],
        title=f"optimize {survey.opened.table.name}",
        progress=progress,
    )
    return all_done(job, outcomes)


def _job(survey: Survey, asked: AskedOptimize, *, tasks: int) -> OptimizeJob:
    opened = survey.opened
    return OptimizeJob(
        request=merge_request(
            opened, asked.read_settings(opened), schema=opened.arrow_schema, row_filter=None
        ),
        target=write_target(opened, asked.write_options(opened)),
        order=RowOrder(
            terms=_order_terms(survey),
            schema=opened.arrow_schema,
            sorts=bool(survey.sort_columns),
            buffer_bytes=asked.sort_buffer_bytes(opened),
            tasks=tasks,
            fragment_bytes=survey.settings.fragment_bytes,
            order_id=_order_id(survey),
        ),
        opening=partial(opened_ahead, opened.io),
    )


def _order_terms(survey: Survey) -> tuple[SortTerm, ...]:
    """Return what orders rows: the sort columns, then the key, so that no rows tie."""
    key = survey.opened.table.primary_key
    # A key column that counts like others has no order of its own yet.
    alone = {name for term in survey.sort_columns if not term.curve for name in term}
    return (*survey.sort_columns, *(SortTerm((name,)) for name in key if name not in alone))


def _order_id(survey: Survey) -> int | None:
    """Return the number of the order that rows are sorted by, if the table has declared it."""
    opened = survey.opened
    if not survey.sort_columns:
        return None
    properties = {opt.SORT_COLUMNS.name: sort_text(survey.sort_columns)}
    return order_id(opened.base.metadata, properties, opened.base.schema())


def _commit(
    survey: Survey,
    plan: OptimizePlan,
    results: Sequence[OptimizeResult],
    *,
    run_ms: int,
    is_whole: bool,
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
                path=survey.opened.partitioner.path(each.files.partition),
                tree=survey.tree_of(each.files),
            )
            for each in plan.partitions
        ),
        planned_at=survey.snapshot.base_snapshot_id,
        changes_rows=any(each.advances for each in plan.partitions),
        summary={OPTIMIZE_TYPE: ",".join(sorted(kind.value for kind in kinds))},
        merged_ms=merged_watermark(survey, plan) if is_whole else None,
        run_ms=run_ms if plan.groups and OptimizeType.FULL not in kinds else None,
        base_bytes=_base_bytes(survey) if is_whole else None,
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


def _base_bytes(survey: Survey) -> int:
    return sum(task.file.size_bytes for files in survey.partitions for task in files.base)


def _has_moved_on(survey: Survey) -> bool:
    head = refresh(survey.opened.base)
    return bool(head.metadata.current_snapshot_id != survey.snapshot.base_snapshot_id)


def _report(
    survey: Survey,
    plan: OptimizePlan,
    chosen: Sequence[ChosenPartition],
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
        files_waiting=max((each.files.waiting for each in plan.partitions), default=0),
        tasks=len(plan.groups),
        attempts=attempts,
        seconds=seconds,
    )
