"""One task of a write, wherever it is sent.

Rules:
    - Its work and its result pickle: they go between the driver and its executors.
    - Kept apart from beginning and committing, as reading is: see ``read_task``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic.writing.conform.conform import Conform
from arctic.writing.target import Locate, TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import WriteRequest
from arctic.writing.writer import open_writer

ADDED_DELETES_TASK = 0
"""The task number of deletes that a commit adds; those of the tasks come after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteWork:
    """What every task of a write is told."""

    target: WriteTarget
    request: WriteRequest
    conform: Conform
    locate: Locate | None
    """Finds rows that may be in another partition; None where that cannot be."""
    is_done: bool
    """The rows are in the table already, as a batch that landed: they are only counted."""
    threads: int = 1
    """That encode files beside one another in each task; more where few tasks leave cores idle."""


def write_task(
    work: WriteWork,
    batches: Iterable[pa.RecordBatch],
    *,
    partition_id: int,
    task_id: int,
    threads: int | None = None,
    in_memory: bool = False,
) -> TaskResult:
    """Write the rows of one task to files that nobody refers to yet.

    Args:
        work: the write.
        batches: rows with the columns that the write began with.
        partition_id: number of the task in the write; unique, and orders its rows.
        task_id: number of the attempt.
        threads: instead of those that the work says. The files are the same for any number.
        in_memory: whether the rows stay in memory in any case, whoever refers to them.

    Raises:
        InvalidInputError: a null key or another row that cannot be written, naming it.
    """
    task = TaskId(
        partition_id=partition_id + ADDED_DELETES_TASK + 1,
        task_id=task_id,
        operation_id=secrets.randbits(63),
    )
    if work.is_done:
        rows_in = sum(batch.num_rows for batch in batches)
        return TaskResult(task=task, files=(), rows_in=rows_in, inserts=0, deletes=0)
    options = replace(work.target.options, threads=threads or work.threads, spills=not in_memory)
    target = replace(work.target, options=options)
    writer = open_writer(
        target, task, request=work.request, conform=work.conform, locate=work.locate
    )
    try:
        for batch in batches:
            writer.write(batch)
        return writer.close()
    except BaseException:
        writer.abort()
        raise
