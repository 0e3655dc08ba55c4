"""The rows of a DELETE, UPDATE or MERGE, committed once; made anew where another commit was faster.

Rules:
    - A frame is a plan: each attempt reads the table as it is then, whatever Spark has cached of
      it. Where a part of the plan has read it already, there is no second attempt.

Must not know: how Spark found the rows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
from pyspark.sql import DataFrame

from arctic.errors import ConflictError, InvalidInputError
from arctic.job.edit.edit_report import DoneEdit
from arctic.job.edit.merging.small_merge import small_merge
from arctic.job.edit.small_edit import NotHereError, small_edit
from arctic.job.edit.where import Where
from arctic.job.publish.after_write import after_write
from arctic.job.reference import TableReference
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.beside.read_rows import WRITTEN_ALONE, ReadRows, compared
from arctic.job.write.command_write import Command, begin_command
from arctic.job.write.write_job import WriteJob
from arctic.options import Scope
from arctic.retry import COMMANDS
from arctic.spark.base.catalog_protocol import DoneAnswer, FailureKind
from arctic.spark.base.catalog_questions import RowLevelQuestion
from arctic.spark.base.handed_on import pinned_snapshots
from arctic.spark.base.private_names import frame_of_jvm
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.catalog.failures import CatalogFailureError
from arctic.spark.catalog.set_values import overwritten, setter
from arctic.spark.read.hints import exact_filter, hinted_filter
from arctic.spark.source import relevant_options
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.tasks.workers import check_workers
from arctic.spark.write.narrow_input import narrow_tasks
from arctic.spark.write.own_rows import read_again
from arctic.spark.write.spread import SpreadRows, spread_rows
from arctic.spark.write.write_frame import write_frame
from arctic.table.filters.predicate import Predicate
from arctic.table.table_description import TableDescription
from arctic.writing.rows.key_count import RepeatedKeyError

_GONE_ROWS = "delete"
"""Of a command whose rows are the keys of those that go."""
_SOURCE_ROWS = "source"
"""Of the question whether this process merges the rows of a source by itself."""
MOST_SOURCE_ROWS = 2**20
"""Of a source that is taken into this process."""
MOST_WIDE_ROWS = 10_000
"""Where rows may be of any length, which no estimate tells: of one text repeated, files of a
megabyte hold gigabytes. As ``SmallSource.java`` has it."""
_MOST_SOURCE_BYTES = 64 * 2**20
"""Of it, by Spark's estimate, which for files is their size."""
_MOST_SOURCE_TASKS = 64
_MOST_IN_TURN = 2
"""Tasks of a source that one task takes over: a limit of several exchanges their rows, which
takes half of the time that reading them does."""
_log = logging.getLogger(__name__)


def changed(asked: RowLevelQuestion, java_frame: Any) -> DoneAnswer:
    """Write and commit the rows of a command.

    Raises:
        ConflictError: other commits were faster each time.
        ArcticError: as ``begin_command`` and ``write_frame``.
    """
    frame = frame_of_jvm(java_frame)
    write = AskedWrite.of(relevant_options(asked.options, Scope.WRITE))
    if asked.rows == _SOURCE_ROWS:
        done = _merged_here(asked, frame, write.reference)
        if done is None:
            return DoneAnswer(found=False)
    else:
        done = _done_here(asked, write.reference)
    properties = _written_by_tasks(asked, frame, write) if done is None else done.properties
    after_write(write, properties, SparkRunner(frame.sparkSession), optimizes=write.optimizes)
    return DoneAnswer(found=True)


def _done_here(asked: RowLevelQuestion, reference: TableReference) -> DoneEdit | None:
    """Carry the command out in this process, without a job of Spark's; None: it cannot."""
    if asked.sets is None:
        return None

    def where_of(table: TableDescription) -> Predicate:
        try:
            return exact_filter(asked.where, table)
        except InvalidInputError as error:
            raise NotHereError from error

    # An UPDATE of columns to themselves sets nothing, and deletes nothing either.
    new_rows = None if asked.rows == _GONE_ROWS else setter(asked.sets)
    return small_edit(
        reference, asked.command, where_of, new_rows, overwritten=overwritten(asked.sets)
    )


def _merged_here(
    asked: RowLevelQuestion, frame: DataFrame, reference: TableReference
) -> DoneEdit | None:
    """Carry a MERGE out in this process with the few rows of its source; None: it cannot."""
    assert asked.sets is not None  # the question says what is set
    tasks = narrow_tasks(frame, most_bytes=_MOST_SOURCE_BYTES, may_grow=False)
    if tasks is None or tasks > _MOST_SOURCE_TASKS:
        return None
    if 1 < tasks <= _MOST_IN_TURN:
        frame = frame.coalesce(1)
    schema = arrow_schema(frame.schema)
    are_short = all(pat.is_primitive(kind) or pat.is_decimal(kind) for kind in schema.types)
    most = MOST_SOURCE_ROWS if are_short else min(MOST_WIDE_ROWS, MOST_SOURCE_ROWS)
    found = frame.limit(most + 1).toArrow()
    if found.num_rows > most:
        return None
    try:
        source = found.cast(schema)
    except pa.ArrowException:
        return None
    return small_merge(reference, asked.command, source, setter(asked.sets))


def _written_by_tasks(
    asked: RowLevelQuestion, frame: DataFrame, write: AskedWrite
) -> Mapping[str, str]:
    """Carry the command out by tasks; return the properties of the table that they wrote to."""
    check_workers(frame.sparkSession)
    frame = read_again(frame, write.reference.identifier, what=asked.command)
    try:
        return _write(asked, frame, write)
    except RepeatedKeyError as error:
        if asked.once != "source":
            raise
        raise CatalogFailureError(error.message, FailureKind.MERGE_CARDINALITY) from error


def _write(asked: RowLevelQuestion, frame: DataFrame, write: AskedWrite) -> Mapping[str, str]:
    command = Command(
        name=asked.command,
        rows=asked.rows,
        once=asked.once,
        checks_inserts=asked.checks_inserts,
        is_blind=asked.is_blind,
        tells_places=asked.tells_places,
    )
    seen = pinned_snapshots(asked.pins)
    schema = arrow_schema(frame.schema)
    identity = None
    outrun: ConflictError | None = None
    for _ in COMMANDS.tries():
        job = begin_command(write, schema, command, seen=seen)
        if identity not in (None, job.identity):
            raise ConflictError(
                f"{asked.command} of table {job.identifier!r}: the table was dropped and created "
                "again meanwhile, or is written on another branch; run it again"
            )
        identity = job.identity
        is_joined = asked.command == "MERGE" and not asked.is_blind
        read = compared(_read(asked, job), job.target.table.properties)
        job = replace(job, read=read, is_joined=is_joined)
        # Nothing of rows that go decides which task is to write it.
        stays = asked.command == "DELETE" and asked.rows == "places"
        spread = SpreadRows(frame=frame, job=job, told={}) if stays else spread_rows(frame, job)
        try:
            write_frame(spread.frame, spread.job)
        except ConflictError as error:
            outrun = error
            if asked.is_blind or asked.is_planned:
                break
            _log.info("%s of %s may be done again: %s", asked.command, job.identifier, error)
        else:
            return job.target.table.properties
    assert outrun is not None  # every try either returned or was outrun
    raise ConflictError(
        f"{asked.command} of table {job.identifier!r}: other commits came after its rows were read "
        f"({outrun.message}); run it again"
    ) from outrun


def _read(asked: RowLevelQuestion, job: WriteJob) -> ReadRows | None:
    """Return what a command looks at in its table; None: nobody can say."""
    if asked.reads == "written":
        return WRITTEN_ALONE
    if asked.reads is None:
        return None
    predicate = hinted_filter(asked.where, job.target.table)
    read = Where(schema=job.target.schema, predicate=predicate, sql=None).read
    return replace(read, of_keys=asked.reads == "keys")
