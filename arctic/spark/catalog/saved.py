"""The rows of a write that Spark hands over as a frame, saved as ``save()`` would.

Must not know: what statement they are of.
"""

from __future__ import annotations

from typing import Any

from arctic import options as opt
from arctic.job.write.asked_write import AskedWrite
from arctic.options import Scope
from arctic.spark.base.catalog_protocol import DoneAnswer
from arctic.spark.base.catalog_questions import SaveQuestion
from arctic.spark.base.handed_on import pinned_snapshots
from arctic.spark.base.private_names import frame_of_jvm
from arctic.spark.read.hints import exact_filter
from arctic.spark.source import relevant_options
from arctic.spark.tasks.workers import check_workers
from arctic.spark.write.save_rows import save_rows


def saved(asked: SaveQuestion, java_frame: Any) -> DoneAnswer:
    """Save the rows of a frame that is in the JVM.

    Raises:
        ArcticError: as ``save_rows``.
    """
    frame = frame_of_jvm(java_frame)
    check_workers(frame.sparkSession)
    options = relevant_options(asked.options, Scope.WRITE)
    if asked.replaces == "partitions":
        options[opt.PARTITION_OVERWRITE_MODE.name.lower()] = "dynamic"
    where = None
    if asked.where is not None:
        table = AskedWrite.of(options).reference.open().table
        where = exact_filter(asked.where, table)
    seen = pinned_snapshots(asked.pins)
    save_rows(
        frame,
        options,
        overwrite=asked.replaces is not None,
        where=where,
        seen=seen,
        is_statement=True,
    )
    return DoneAnswer(found=True)
