"""How far event time has come in base, once a run of optimizing is committed.

Base holds what is merged, and each partition is merged as far as it was due. So its watermark is
that of the changes before the first one that is not merged in some partition.
"""

from __future__ import annotations

from arctic.iceberg.commits.commit_notes import change_watermark
from arctic.job.upkeep.survey import Survey
from arctic.optimizing.planning.plan_run import OptimizePlan


def merged_watermark(survey: Survey, plan: OptimizePlan) -> int | None:
    """Return the watermark of the changes before the first that base does not hold then.

    Args:
        survey: of all partitions of the table.
        plan: what is merged of it.

    Returns:
        Milliseconds; None where the snapshots of these changes say nothing.
    """
    after = {each.files.partition: each.merged_up_to for each in plan.partitions}
    complete = min((each.horizon for each in survey.partitions), default=0)
    for files in survey.partitions:
        merged = after.get(files.partition, files.merged_up_to)
        numbers = [task.file.sequence_number for task in files.inserts]
        numbers += [file.sequence_number for file in files.change_deletes]
        waiting = [number for number in numbers if number > merged]
        complete = min([complete, *(number - 1 for number in waiting)])
    return change_watermark(survey.opened, complete)
