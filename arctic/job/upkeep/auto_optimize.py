"""Optimizing right after a write, for writers that asked for it.

Rules:
    - The write is committed before: whatever fails here is a warning, never an error.
    - Only where the table is comes from the options of the write.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from arctic import options as opt
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.optimize_job import optimize_table


def optimizes_after_write(options: Mapping[str, str]) -> bool:
    """Return whether the options of a write ask for it.

    Raises:
        InvalidInputError: a value of option ``optimize`` that is none.
    """
    return opt.OPTIMIZE.value(options) == "auto"


def optimize_after_write(options: Mapping[str, str], runner: TaskRunner) -> None:
    """Optimize the table of a write that is committed, as far as it needs it.

    Args:
        options: those of the write.
        runner: where the tasks run.

    Warns:
        RuntimeWarning: it failed; the table is as the write left it.
    """
    table = table_options(options)
    try:
        optimize_table(table, type=None, where=None, runner=runner, progress=default_progress())
    except Exception as error:  # noqa: BLE001 - a committed write does not fail, whatever this is
        name = opt.PATH.value(table)
        reason = (str(error).strip().splitlines() or ["no message"])[0]
        warnings.warn(
            f"table {name!r}: the write is committed, but the table could not be optimized: "
            f"{type(error).__name__}: {reason}; run arctic.optimize({name!r})",
            RuntimeWarning,
            stacklevel=4,  # Past the caller and the verb of the user, to the line that wrote.
        )


def table_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that say where a table is, and no others.

    >>> table_options({"path": "ns.t", "catalog.uri": "u", "ordering-column": "at"})
    {'path': 'ns.t', 'catalog.uri': 'u'}
    """
    names = {
        name.lower()
        for option in opt.OPTIONS
        if opt.Scope.CATALOG in option.scopes
        for name in option.names
    }
    return {
        name: value
        for name, value in options.items()
        if name.lower() in names or name.lower().startswith(opt.CATALOG_PREFIX)
    }
