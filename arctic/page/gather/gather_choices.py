"""What optimizing would do now: what is due, and each type for the whole table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arctic.job.upkeep.survey import Survey
from arctic.optimizing.planning.evaluate import Verdict
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.plan_run import plan_optimize
from arctic.optimizing.report import PartitionStatus
from arctic.optimizing.settings import OptimizeType
from arctic.page.facts.table_facts import Choice
from arctic.service.scheduling.outlook import predict

_Partitions = Sequence[tuple[PartitionFiles, PartitionStatus]]


def gather_choices(
    survey: Survey, statuses: Sequence[PartitionStatus], *, parallelism: int
) -> tuple[Choice, ...]:
    """Plan a run of what is due, and one of each type; nothing is carried out.

    Args:
        survey: the table.
        statuses: of its partitions, in their order.
        parallelism: tasks that would run at a time.
    """
    everything = list(zip(survey.partitions, statuses, strict=True))
    return tuple(_choices(survey, everything, parallelism))


def _choices(survey: Survey, everything: _Partitions, parallelism: int) -> Iterator[Choice]:
    due = [(files, status, status.verdict) for files, status in everything if status.verdict.type]
    if due:
        yield _choice(survey, due, parallelism, is_due=True)
    for kind in OptimizeType:
        asked = Verdict(type=kind, reason="asked for")
        every = [(files, status, asked) for files, status in everything]
        yield _choice(survey, every, parallelism, is_due=False)


def _choice(
    survey: Survey,
    chosen: Sequence[tuple[PartitionFiles, PartitionStatus, Verdict]],
    parallelism: int,
    *,
    is_due: bool,
) -> Choice:
    plan = plan_optimize(
        [(files, verdict.type) for files, _, verdict in chosen if verdict.type is not None],
        table=survey.opened.table,
        settings=survey.settings,
        parallelism=parallelism,
        sort_column=survey.sort_column,
    )
    planned = {each.files.partition for each in plan.partitions}
    outlook = predict(
        [
            (status.health, verdict)
            for files, status, verdict in chosen
            if files.partition in planned
        ],
        open_file_cost_bytes=survey.settings.open_file_cost_bytes,
    )
    types = {verdict.type.value for _, _, verdict in chosen if verdict.type is not None}
    return Choice(
        type=", ".join(kind.value for kind in OptimizeType if kind.value in types),
        is_due=is_due,
        partitions=len(plan.partitions),
        tasks=len(plan.groups),
        rewritten_files=sum(len(each.selection.rewrite) for each in plan.partitions),
        marked_files=sum(len(each.selection.mark) for each in plan.partitions),
        moved_bytes=outlook.work_bytes,
        seconds=outlook.work_ms / 1_000 if plan.partitions else 0.0,
        saved_ms=outlook.saved_ms,
    )
