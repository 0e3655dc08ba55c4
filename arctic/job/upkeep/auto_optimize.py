"""Optimizing right after a write, for writers that asked for it.

Rules:
    - The write is committed before: whatever fails here is a warning, never an error.
    - Only where the table is comes from the options of the write.
    - A table that a service looks after is left to it: the writer does not wait.
"""

from __future__ import annotations

import warnings

from arctic.job.reference import TableReference
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.left_to_service import is_left_to_service
from arctic.job.upkeep.optimize_job import optimize_table


def optimize_after_write(reference: TableReference, runner: TaskRunner) -> None:
    """Optimize the table of a write that is committed, as far as it needs it.

    Args:
        reference: the table.
        runner: where the tasks run.

    Warns:
        RuntimeWarning: it failed; the table is as the write left it.
    """
    if is_left_to_service(reference):
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
