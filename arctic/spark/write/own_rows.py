"""Rows of a frame that are made of the very table they are written to.

Rules:
    - What Spark has cached of that table may be an older state of it: such rows are made again, of
      what the table holds.
    - Which state a query reads is known once it is planned, before its first row.
    - A session without our classes, or without the catalog, tells neither.

Must not know: how rows are written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from arctic.errors import ConflictError, UnsupportedError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.write.commit_write import open_now
from arctic.job.write.write_job import WriteJob
from arctic.spark.base.handed_on import pinned_snapshots
from arctic.spark.base.private_names import jvm, jvm_frame
from arctic.table.snapshot import TableSnapshot

_PINS, _UNCACHED = "arctic.spark.Pins", "arctic.spark.catalog.Uncached"


class ReadLaterError(ConflictError):
    """Others committed between the beginning of a write and the planning of its rows."""


def read_again(frame: DataFrame, path: str, *, what: str) -> DataFrame:
    """Return a frame that reads a table where Spark would take what it has cached of it.

    Args:
        frame: of a classic session.
        path: of the table.
        what: is written, for the message.

    Raises:
        UnsupportedError: what is cached would have other rows, made again of the same ones.
    """
    found = _class(frame, _UNCACHED)
    if found is None:
        return frame
    arguments = jvm(frame.sparkSession).java.util.ArrayList()
    arguments.add(path)
    java = jvm_frame(frame)
    read = found.getConstructors()[0].newInstance(arguments.toArray()).apply(java)
    if read is None:
        raise UnsupportedError(
            f"{what} of table {path!r}: Spark has cached rows that are made of the table itself, "
            "perhaps of an older state, and a limit, a sample or a random value in them would not "
            "be the same again; write them to a table of their own first, or call unpersist()"
        )
    return DataFrame(read, frame.sparkSession)


def as_it_is_read(frame: DataFrame, job: WriteJob) -> WriteJob:
    """Return a write on top of the state that its rows are read in, which may be a later one.

    Places of rows say nothing in another state than that.

    Args:
        frame: the very frame that is carried out afterwards.
        job: the write of a command, of which nothing has been read so far.
    """
    states = _read_in(frame, job)
    found = {state.base_snapshot_id for state in states}
    if len(found) != 1 or not found <= _snapshots(open_now(job)):
        return job
    return replace(job, on_top_of=states[0])


def check_read_as_begun(frame: DataFrame, job: WriteJob) -> None:
    """Refuse to replace a table by rows of a state that is not the one which is replaced.

    A row that others appended in between would be among the new ones, and stay on top of them.

    Args:
        frame: the very frame that is carried out afterwards.
        job: the overwrite.

    Raises:
        ReadLaterError: the frame reads a later state of the table; nothing has been read.
    """
    states = [state for state in _read_in(frame, job) if not _is_begun(state, job)]
    if not states:
        return
    known = _snapshots(open_now(job))
    if any({state.base_snapshot_id, state.change_snapshot_id} & known for state in states):
        raise ReadLaterError(
            f"overwrite of table {job.identifier!r}: others have committed since it began, and its "
            "rows are made of the table; write again"
        )


def _read_in(frame: DataFrame, job: WriteJob) -> list[TableSnapshot]:
    """Return the states of tables of this path that a frame is going to read, newest ones."""
    found = _class(frame, _PINS)
    if found is None:
        return []
    pins = found.getField("SHARED").get(None).ofFrame(jvm_frame(frame), job.identifier)
    return pinned_snapshots(list(pins))


def _is_begun(state: TableSnapshot, job: WriteJob) -> bool:
    if job.target.table.is_keyed:
        return state.change_sequence_number == job.replaces_up_to
    return state.base_snapshot_id == job.found_base


def _snapshots(opened: OpenTable) -> set[int | None]:
    """Return what tells a state of this table from one of another with its name."""
    stores = [store for store in (opened.base, opened.change) if store is not None]
    return {each.snapshot_id for store in stores for each in store.metadata.snapshots}


def _class(frame: DataFrame, name: str) -> Any | None:
    loader: Any = jvm(frame.sparkSession).java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return loader.loadClass(name)
    except Py4JError:
        return None
