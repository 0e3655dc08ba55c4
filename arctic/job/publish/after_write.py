"""What a write or its table asked for once it is committed: the table optimized, and published.

Rules:
    - The write is committed before: whatever fails here is a warning, never an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from arctic.iceberg.ownership.published import published_names
from arctic.iceberg.publishing.published_table import find_published
from arctic.iceberg.publishing.shown_files import commits_since
from arctic.job.publish.publish_job import publish_table
from arctic.job.publish.publish_report import PublishReport
from arctic.job.reference import TableReference
from arctic.job.tasks.run_tasks import LocalRunner, TaskRunner
from arctic.job.upkeep.auto_optimize import optimize_after_write
from arctic.job.write.asked_write import AskedWrite


def after_write(
    asked: AskedWrite,
    properties: Mapping[str, str],
    runner: TaskRunner | None,
    *,
    optimizes: bool,
) -> None:
    """Do what a committed write or its table asked for.

    Args:
        asked: the write.
        properties: of the table that it was written to.
        runner: where the tasks of optimizing run; None: in threads of this process.
        optimizes: it is time for that; a stream does not with every batch.

    Warns:
        RuntimeWarning: it failed; the table is as the write left it.
    """
    reference = asked.reference.on_no_branch()
    if optimizes:
        optimize_after_write(reference, runner or LocalRunner.of_this_machine())
    try:
        every = asked.publish_every(properties)
        if every is not None:
            publish_all(reference, every=every)
    except Exception as error:  # noqa: BLE001 - a committed write does not fail, whatever this is
        name = reference.identifier
        reason = (str(error).strip().splitlines() or ["no message"])[0]
        warnings.warn(
            f"table {name!r}: the write is committed, but the table could not be published: "
            f"{type(error).__name__}: {reason}; run arctic.publish({name!r})",
            RuntimeWarning,
            stacklevel=5,  # Past its callers, to the line that wrote with `arctic.write`.
        )


def publish_all(reference: TableReference, *, every: int) -> tuple[PublishReport, ...]:
    """Publish a table under each name that it is shown under, or under its usual one.

    Args:
        reference: the table.
        every: commits that must have come since, for a name that shows it already.

    Raises:
        ArcticError: as ``publish_table``.
    """
    opened = reference.open()
    reports = []
    for name in published_names(opened.base) or (None,):
        shown = None if name is None else find_published(opened.base.catalog, name)
        behind = None if shown is None else commits_since(opened, shown)
        if behind is None or behind >= every:
            reports.append(publish_table(reference, name, None))
    return tuple(reports)
