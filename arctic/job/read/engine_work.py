"""The dead rows of the files that an engine may read by itself: what is asked for them.

Must not know: engines by name.
"""

from __future__ import annotations

import pyarrow as pa

from arctic.job.read.asked_read import cached_access
from arctic.job.read.engine_scan import EngineScan
from arctic.job.read.plan_rows import merge_request
from arctic.job.vectors.vector_work import VectorWork

_NO_COLUMNS = pa.schema([])


def engine_work(scan: EngineScan, *, most_rows: int | None = None) -> VectorWork | None:
    """Return the work that tells which rows of an engine's files are dead; None: none are.

    Args:
        scan: its plan.
        most_rows: of the files together, where only the largest are looked into; None: in all.
    """
    if scan.shared is None or scan.settings is None or not scan.shared.dirty_tasks:
        return None
    work = VectorWork(
        tasks=scan.shared.dirty_tasks,
        request=merge_request(scan.opened, scan.settings, schema=_NO_COLUMNS, row_filter=None),
        io=cached_access(scan.opened, scan.settings.cache),
    )
    return work if most_rows is None else work.of_largest(most_rows)
