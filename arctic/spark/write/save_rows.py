"""The rows of a frame of a classic session, saved in one commit of this process.

Must not know: who saves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from arctic.errors import ConflictError
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.publish.after_write import after_write
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.command_write import check_seen
from arctic.job.write.loads.first_load import as_inserts, into_base
from arctic.job.write.new_only import create_for_write
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.options import WRITE_MODE
from arctic.retry import WHERE_OUTRUN
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.write.frame_files import written_by_one, written_from_files, written_where_read
from arctic.spark.write.own_rows import ReadLaterError, read_again
from arctic.spark.write.spread import spread_rows
from arctic.spark.write.write_frame import write_frame
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.writing.write_request import WriteMode

_log = logging.getLogger(__name__)


def settled_new(
    frame: DataFrame, options: Mapping[str, str], *, mode: str
) -> dict[str, str] | None:
    """Make the table of a write that is only meant for a new one.

    Returns:
        The options to write the rows with; None: the table is there, and stays as it is.

    Raises:
        ArcticError: as ``create_for_write``.
    """
    settled = create_for_write(AskedWrite.of(options), arrow_schema(frame.schema), mode=mode)
    return None if settled is None else {**options, WRITE_MODE.name: settled.value}


def save_rows(
    frame: DataFrame,
    options: Mapping[str, str],
    *,
    overwrite: bool,
    where: Predicate | None = None,
    seen: Sequence[TableSnapshot] = (),
    is_statement: bool = False,
    is_new: bool = False,
) -> None:
    """Spread, write and commit the rows of a frame, and do what is asked for after that.

    Args:
        frame: of a classic session.
        options: ``path``, catalog and write options.
        overwrite: the caller's save mode was overwrite.
        where: it replaces the partitions for which this holds, and no other; None: all.
        seen: states in which parts of the frame have read the table already.
        is_statement: SQL that names the tables it reads, and no frame that a user may have kept.
        is_new: a statement has made the table for these rows.

    Raises:
        ConflictError: the table is in another state than one of these, or others committed each
            time before the rows were planned that are to replace it.
        ArcticError: as ``begin_write`` and ``write_frame``.
    """
    asked = AskedWrite.of(options, overwrite=overwrite)
    if where is not None:
        asked = asked.replacing(where)
    if is_statement or asked.mode is WriteMode.OVERWRITE:
        frame = read_again(frame, asked.reference.identifier, what="a write")

    def write() -> WriteJob:
        job = begin_write(asked, arrow_schema(frame.schema))
        if seen:
            check_seen(seen, job, what="overwrite")
        if not _written_as_first(frame, job, is_new=is_new):
            _write(frame, job)
        return job

    with taken_back_on_failure():
        job = WHERE_OUTRUN.run(write, on=ReadLaterError)
    properties = job.target.table.properties
    after_write(asked, properties, SparkRunner(frame.sparkSession), optimizes=asked.optimizes)


def _written_as_first(frame: DataFrame, job: WriteJob, *, is_new: bool) -> bool:
    """Say whether the rows were written as the first ones of a table, which costs less."""
    new = into_base(job) if is_new else None
    first = as_inserts(job) if new is None else None
    try:
        if new is not None:
            _write(frame, new)
            return True
        return first is not None and written_from_files(frame, first)
    except ConflictError as error:
        _log.info("the rows of %s are no first ones any more: %s", job.identifier, error)
        return False


def _write(frame: DataFrame, job: WriteJob) -> None:
    if written_from_files(frame, job) or written_by_one(frame, job):
        return
    spread = spread_rows(frame, job)
    stays = spread.frame is frame
    if not (stays and written_where_read(frame, spread.job)):
        write_frame(spread.frame, spread.job)
