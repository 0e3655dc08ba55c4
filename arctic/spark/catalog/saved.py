"""The rows of a write that Spark hands over as a frame, saved as ``save()`` would.

Must not know: what statement they are of.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from arctic import options as opt
from arctic.errors import ArcticError
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.write.asked_write import AskedWrite
from arctic.options import Scope
from arctic.spark.base.catalog_protocol import DoneAnswer
from arctic.spark.base.catalog_questions import SaveQuestion
from arctic.spark.base.error_surface import worker_text
from arctic.spark.base.handed_on import pinned_snapshots
from arctic.spark.base.private_names import frame_of_jvm
from arctic.spark.catalog.failures import CatalogFailureError
from arctic.spark.read.hints import exact_filter
from arctic.spark.source import relevant_options
from arctic.spark.tasks.workers import check_workers
from arctic.spark.write.save_rows import save_rows, settled_new


def saved(asked: SaveQuestion, java_frame: Any) -> DoneAnswer:
    """Save the rows of a frame that is in the JVM.

    Raises:
        ArcticError: as ``save_rows``; where a client may want to raise it again, in words that say
            its name too.
    """
    try:
        with taken_back_on_failure():
            _save(asked, frame_of_jvm(java_frame))
    except ArcticError as error:
        if asked.is_statement:
            raise
        raise CatalogFailureError(worker_text(error)) from error
    return DoneAnswer(found=True)


def _save(asked: SaveQuestion, frame: DataFrame) -> None:
    check_workers(frame.sparkSession)
    options = relevant_options(asked.options, Scope.WRITE)
    mode = options.pop(opt.SAVE_MODE.name, None)
    if mode is not None:
        settled = settled_new(frame, options, mode=mode)
        if settled is None:
            return
        options = settled
    where = None
    if asked.where is not None:
        table = AskedWrite.of(options).reference.open().table
        where = exact_filter(asked.where, table)
    seen = pinned_snapshots(asked.pins)
    save_rows(
        frame,
        options,
        overwrite=asked.overwrites,
        where=where,
        seen=seen,
        is_statement=asked.is_statement,
        is_new=asked.is_new,
    )
