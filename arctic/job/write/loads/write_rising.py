"""A load whose tasks read the row groups of files themselves, and write them as they come.

Rules:
    - That keys rise is seen in every row: inside each task, and from one task to the next. So no
      key is there twice, and which of its rows would be the last is no question.
    - Rows that do not, or that are refused for anything else, are left to whoever arranges rows:
      what was written is deleted, and nothing was committed.

Memory: of a task, a chunk of rows, a run of row groups that is read (64 MiB, or one of them) and
those that are written.

Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import compare_neighbours
from arctic.errors import InternalError, InvalidInputError
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import Task, TaskRunner
from arctic.job.write.commit_write import abort_write, commit_write
from arctic.job.write.loads.file_shares import REFUSED, FileShare, source_access
from arctic.job.write.write_job import WriteJob
from arctic.job.write.write_task import WriteWork, write_task
from arctic.writing.rows.gather import take_rows
from arctic.writing.target import TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenShare:
    """What one task wrote of rising keys."""

    result: TaskResult
    ends: pa.Table
    """Its first key and its last one; of a single row it is one."""


def write_rising(job: WriteJob, shares: Sequence[FileShare], runner: TaskRunner) -> bool:
    """Write and commit the rows of files, if their keys rise.

    Args:
        job: a write that ``may_rise``.
        shares: its tasks, at least one.
        runner: runs them.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``commit_write``; or a file could not be read or written.
    """
    request = replace(job.request, sorted_input=True)
    threads = 1 if len(shares) * 2 > runner.parallelism else 2
    job = replace(job, work=replace(job.work, request=request, threads=threads))
    answers = runner.run(
        partial(_write_share, job.work, source_access(job).open_input),
        [Task(value=share, rows=share.rows) for share in shares],
        title=f"load {job.identifier}",
        progress=SilentProgress(),
    )
    written = [answer for answer in answers if answer is not None]
    results = [each.result for each in written]
    if len(written) < len(shares) or not _rise(pa.concat_tables([each.ends for each in written])):
        abort_write(job, results)
        return False
    with job.target.deleted_on_failure(results):
        rows, expected = sum(each.inserts for each in results), sum(each.rows for each in shares)
        if rows != expected:
            raise InternalError(f"{rows} rows were written; expected {expected}, as the files have")
    commit_write(replace(job, owns_keys=True), results)
    return True


def _write_share(
    work: WriteWork, open_file: Callable[[str], Any], share: FileShare
) -> WrittenShare | None:
    """Write the rows of one task; None: they are to be arranged, or refused, by others."""
    keys = RisingKeys(work.target.key)
    try:
        result = write_task(
            work,
            keys.held(share.batches(open_file)),
            partition_id=share.number,
            task_id=share.number,
        )
    except REFUSED:
        return None
    return WrittenShare(result=result, ends=keys.ends())


class RisingKeys:
    """Keys of a stream, which are held to rise strictly."""

    def __init__(self, key: Sequence[str]) -> None:
        self._key = list(key)
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None

    def held(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches as they come, none of them empty.

        Raises:
            InvalidInputError: a key is missing, or is not above the one before.
        """
        for batch in batches:
            keys = pa.Table.from_batches([batch.select(self._key)])
            if any(column.null_count for column in keys.columns):
                raise InvalidInputError(f"a null in {', '.join(self._key)}; expected a whole key")
            every = keys if self._last is None else pa.concat_tables([self._last, keys])
            if not _rise(every):
                raise InvalidInputError(f"rows do not rise by {', '.join(self._key)}")
            # Taken, not cut off: a slice would keep all keys, and take them along.
            self._last = take_rows(keys, np.array([keys.num_rows - 1]))
            if self._first is None:
                self._first = take_rows(keys, np.array([0]))
            yield batch

    def ends(self) -> pa.Table:
        """Return the first key and the last one of what was yielded; of a single row it is one."""
        if self._first is None or self._last is None:
            raise InternalError("a share without rows")
        # As keys rise, only those of one row are equal.
        is_single = self._first.equals(self._last)
        return self._first if is_single else pa.concat_tables([self._first, self._last])


def _rise(keys: pa.Table) -> bool:
    return bool((compare_neighbours(keys) < 0).all())
