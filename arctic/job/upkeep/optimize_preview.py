"""What a run of optimizing would do, planned as it would be, and not carried out."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.chosen_partitions import chosen_partitions, optimize_type
from arctic.job.upkeep.survey import survey_table
from arctic.optimizing.planning.plan_run import plan_optimize
from arctic.optimizing.report import StoreCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedPartition:
    """What would be done in one partition."""

    partition: str
    type: str
    reason: str
    tasks: int
    replaced_files: int
    """Base and position-delete files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizePreview:
    """What a run would do now."""

    table: str
    partitions: tuple[PreviewedPartition, ...]
    before: StoreCounts
    """What a read opens of them now."""
    tasks: int
    rows: int
    """That the tasks would go through."""


def preview_optimize(
    asked: AskedOptimize, *, type: str | None, parallelism: int
) -> OptimizePreview:
    """Plan a run, and change nothing.

    Args:
        asked: what the options say.
        type: ``minor``, ``major`` or ``full`` for every partition; None: what is due in each.
        parallelism: tasks that would run at a time.

    Raises:
        NotFoundError: an unknown table.
        InvalidInputError: a type or an option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
    """
    kind = optimize_type(type)
    survey = survey_table(asked, None, for_writing=False)
    chosen = chosen_partitions(survey, kind)
    plan = plan_optimize(
        [(each.files, each.type) for each in chosen],
        table=survey.opened.table,
        settings=survey.settings,
        parallelism=parallelism,
        sort_column=survey.sort_column,
    )
    reasons = {each.files.partition: each.reason for each in chosen}
    path = survey.opened.partitioner.path
    return OptimizePreview(
        table=survey.opened.table.name,
        partitions=tuple(
            PreviewedPartition(
                partition=path(each.files.partition),
                type=each.type.value,
                reason=reasons[each.files.partition],
                tasks=len(each.tasks),
                replaced_files=len(each.removed_paths),
            )
            for each in plan.partitions
        ),
        before=StoreCounts.before(each.files for each in plan.partitions),
        tasks=len(plan.groups),
        rows=sum(group.record_count for group in plan.groups),
    )
