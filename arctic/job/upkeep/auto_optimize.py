"""Optimizing right after a write, for writers that asked for it.

Rules:
    - The write is committed before: whatever fails here is a warning, never an error.
    - Only where the table is comes from the options of the write.
    - A table that a service looks after is left to it: the writer does not wait.
"""

from __future__ import annotations

import time
import warnings

from arctic import options as opt
from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.commits.service_mark import serving_mark
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.job.reference import TableReference
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.optimize_job import optimize_table


def optimize_after_write(reference: TableReference, runner: TaskRunner) -> None:
    """Optimize the table of a write that is committed, as far as it needs it.

    Args:
        reference: the table.
        runner: where the tasks run.

    Warns:
        RuntimeWarning: it failed; the table is as the write left it.
    """
    if _is_left_to_service(reference):
        return
    asked = AskedOptimize(reference=reference)
    try:
        optimize_table(asked, type=None, where=None, runner=runner, progress=default_progress())
    except Exception as error:  # noqa: BLE001 - a committed write does not fail, whatever this is
        name = reference.identifier
        reason = (str(error).strip().splitlines() or ["no message"])[0]
        warnings.warn(
            f"table {name!r}: the write is committed, but the table could not be optimized: "
            f"{type(error).__name__}: {reason}; run arctic.optimize({name!r})",
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
