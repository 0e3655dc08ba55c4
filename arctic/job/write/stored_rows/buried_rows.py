"""Stored rows without a key that a write takes the place of, out of their data files.

Rules:
    - They are marked where they are in the state that the write is committed on top of: see
      ``places_beside``.
    - A file of which no row is left goes as a whole; of others the rows are marked as deleted.

Memory: eight bytes for each of the rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from arctic import options as opt
from arctic.errors import ArcticError, CommitStateUnknownError, ConflictError, InternalError
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.write.beside.places_beside import check_places, places_now
from arctic.job.write.write_job import WriteJob
from arctic.job.write.write_task import ADDED_DELETES_TASK
from arctic.retry import CATCHING_UP
from arctic.table.commit_plan import AppendFiles
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.watermark import Watermark
from arctic.writing.place_writer import dead_of
from arctic.writing.position_marks import mark_rows
from arctic.writing.target import TaskId, TaskResult, files_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Buried:
    """What has to be committed for rows that go."""

    results: tuple[TaskResult, ...] = ()
    """The files in which they are marked."""
    paths: frozenset[str] = frozenset()
    """Data files that go with all their rows."""


def commit_buried(
    job: WriteJob,
    opened: OpenTable,
    results: Sequence[TaskResult],
    *,
    opened_now: Callable[[], OpenTable],
    watermark: Watermark | None,
) -> CommitResult | None:
    """Commit what tasks have written, and mark the rows that go where they are by now.

    Args:
        job: the write.
        opened: its table, opened just now.
        results: of all tasks; their files stay, whatever happens.
        opened_now: opens it anew.
        watermark: how far event time has come with the files.

    Returns:
        The snapshot; None where nothing comes or goes.

    Raises:
        BatchLandedError: the batch is in the table already.
        ConflictError: others have changed what the rows were made of, or moved them in every round.
        StorageError: a file could not be read or written.
    """
    dead, before = dead_of(results), job.on_top_of
    if before is None:
        raise InternalError(f"rows of table {job.identifier!r} go, but of no known state")
    for number in CATCHING_UP.tries():
        if number:
            opened = opened_now()
        now, places = places_now(
            opened, dead, schema=job.target.schema, before=before, read=job.read
        )
        gone = _buried(job, opened, places, state=now)
        plan = AppendFiles(
            files=files_of([*results, *gone.results]),
            removed_paths=gone.paths,
            batch=job.batch,
            watermark=watermark,
        )
        check = partial(check_places, since=now, read=job.read)
        try:
            return commit_append(opened, plan, check=check)
        except ConflictError as error:
            job.target.delete_results(gone.results)
            outrun = error
        except (CommitStateUnknownError, InternalError):
            raise
        except ArcticError:
            job.target.delete_results(gone.results)
            raise
    raise ConflictError(
        f"table {opened.table.name!r}: others committed each of {CATCHING_UP.most_tries} times "
        f"before the rows were marked that this write takes the place of ({outrun.message})"
    ) from outrun


def _buried(
    job: WriteJob,
    opened: OpenTable,
    dead: Mapping[str, npt.NDArray[np.int64]],
    *,
    state: TableSnapshot,
) -> _Buried:
    """Write the position deletes of rows, by the number and the file that they have in a state."""
    if not dead:
        return _Buried()
    listed = list_files(opened, state, field_ids=(), row_filter=None)
    files = {file.path: file for file in listed.base}
    strange = sorted(dead.keys() - files.keys())
    if strange:
        raise InternalError(f"a row of file {strange[0]!r} goes, which the table does not have")
    whole = {path for path, rows in dead.items() if len(rows) == files[path].record_count}
    options = replace(job.target.options, threads=opt.default_parallelism())
    task = TaskId(partition_id=ADDED_DELETES_TASK, task_id=0, operation_id=secrets.randbits(63))
    marked = mark_rows(
        replace(job.target, options=options),
        task,
        [(files[path], rows) for path, rows in dead.items() if path not in whole],
    )
    count = sum(len(rows) for rows in dead.values())
    result = TaskResult(task=task, files=marked, rows_in=0, inserts=0, deletes=count)
    return _Buried(results=(result,), paths=frozenset(whole))
