"""What a write or its table asked for once it is committed: the table optimized, and published.

Rules:
    - The write is committed before: whatever fails here is a warning, never an error.
    - For optimizing the options of the write say only where the table is.
    - A table that a service looks after is left to it: the writer does not wait.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping

from arctic import options as opt
from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.commits.service_mark import serving_mark
from arctic.iceberg.ownership.published import published_names
from arctic.iceberg.publishing.published_table import find_published
from arctic.iceberg.publishing.shown_files import commits_since
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.job.publish.publish_job import publish_table
from arctic.job.publish.publish_report import PublishReport
from arctic.job.reference import TableReference
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import LocalRunner, TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.optimize_job import optimize_table
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
    try:
        if optimizes:
            _optimize(reference, runner or LocalRunner.of_this_machine())
    except Exception as error:  # noqa: BLE001 - a committed write does not fail, whatever this is
        _warn(reference, "optimized", "optimize", error)
    try:
        every = asked.publish_every(properties)
        if every is not None:
            publish_all(reference, every=every)
    except Exception as error:  # noqa: BLE001 - likewise
        _warn(reference, "published", "publish", error)


def publish_all(
    reference: TableReference, *, every: int, now_ms: int | None = None
) -> tuple[PublishReport, ...]:
    """Publish a table under each name that it is shown under, or under its usual one.

    Args:
        reference: the table.
        every: commits that must have come since, for a name that shows it already.
        now_ms: as of ``publish_table``.

    Raises:
        ArcticError: as ``publish_table``.
    """
    opened = reference.open()
    reports = []
    for name in published_names(opened.base) or (None,):
        shown = None if name is None else find_published(opened.base.catalog, name)
        behind = None if shown is None else commits_since(opened, shown)
        if behind is None or behind >= every:
            reports.append(publish_table(reference, name, None, now_ms=now_ms))
    return tuple(reports)


def _optimize(reference: TableReference, runner: TaskRunner) -> None:
    if not _is_left_to_service(reference):
        asked = AskedOptimize(reference=reference)
        optimize_table(asked, type=None, where=None, runner=runner, progress=default_progress())


def _warn(reference: TableReference, done: str, verb: str, error: Exception) -> None:
    name = reference.identifier
    reason = (str(error).strip().splitlines() or ["no message"])[0]
    warnings.warn(
        f"table {name!r}: the write is committed, but the table could not be {done}: "
        f"{type(error).__name__}: {reason}; run arctic.{verb}({name!r})",
        RuntimeWarning,
        stacklevel=6,  # Past its callers, to the line that wrote with `arctic.write`.
    )


def _is_left_to_service(reference: TableReference) -> bool:
    """Say whether a service of the table's group is alive, and the table is not kept from it.

    Where the catalog does not tell, there is none.
    """
    try:
        parts = parse_identifier(reference.identifier)
        properties = existing_store(open_catalog(reference.config), parts).properties
        if not opt.OPTIMIZE_ENABLED.value({}, properties):
            return False
        group = opt.OPTIMIZE_GROUP.value({}, properties)
        mark = serving_mark(reference.config, reference.identifier, group)
    except ArcticError:
        return False
    return mark is not None and mark.holds(time.time_ns() // 1_000_000)
