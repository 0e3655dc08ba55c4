"""A write whose tasks read Parquet files themselves, as the tasks of a scan of Spark's would.

Strategy: Spark divides the bytes of files among its tasks before it reads any. So each task here
has the rows that one of Spark's would have, in the same order: whatever a write makes of the order
of its rows, such as which one of a key is the last, comes out the same.

Rules:
    - Every row group is read by exactly one task, or none is read here.
    - Rows that are refused are left to Spark to deliver, and to whoever names them then: what was
      written is deleted, and nothing was committed.

Must not know: Spark, whether rows may stay in the tasks that read them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from arctic.errors import InternalError
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import Task, TaskRunner
from arctic.job.write.commit_write import abort_write, commit_write
from arctic.job.write.loads.file_shares import (
    REFUSED,
    FileShare,
    WholeFiles,
    all_footers,
    source_access,
)
from arctic.job.write.loads.source_footers import PlacedGroup, placed_footer
from arctic.job.write.write_job import WriteJob
from arctic.job.write.write_task import WriteWork, write_task
from arctic.mor.files.parquet_footer import Size
from arctic.writing.target import TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePiece:
    """Bytes of a file that a task of a scan reads: row groups that have their middle there."""

    path: str
    start: int
    """Inclusive."""
    end: int
    """Exclusive."""

    def of(self, groups: Sequence[PlacedGroup]) -> list[PlacedGroup]:
        """Return those of the file's row groups that are read with this piece, in their order."""
        return [group for group in groups if self.start <= group.middle < self.end]


def scanned_shares(
    job: WriteJob,
    files: WholeFiles,
    scanned: Sequence[Sequence[FilePiece]],
    incoming: pa.Schema,
) -> tuple[FileShare, ...] | None:
    """Return the tasks that read and write the rows of a scan; None: Spark is to read them.

    Args:
        job: the write of them.
        files: all of the rows.
        scanned: what each task of the scan reads, in its order.
        incoming: the columns of the rows.
    """
    stored = files.stored(incoming)

    def footer(file: int, open_file: Callable[[str], Any]) -> tuple[Size, list[PlacedGroup]] | None:
        return placed_footer(files.paths[file], open_file, stored, file=file)

    found = all_footers(job, files, footer)
    if found is None:
        return None
    sizes, groups = found
    size_of = dict(zip(files.paths, sizes, strict=True))
    if not _covers(scanned, {path: size.size_bytes for path, size in size_of.items()}):
        return None
    of_file: dict[str, list[PlacedGroup]] = defaultdict(list)
    for group in groups:
        of_file[files.paths[group.file]].append(group)
    shares: list[FileShare] = []
    for pieces in scanned:
        read = [(piece.path, piece.of(of_file[piece.path])) for piece in pieces]
        parts = tuple(
            (path, size_of[path], tuple(group.number for group in some))
            for path, some in read
            if some
        )
        if parts:
            shares.append(
                FileShare(
                    number=len(shares),
                    parts=parts,
                    columns=incoming,
                    sources=tuple(files.sources(incoming).values()),
                    rows=sum(group.rows for _, some in read for group in some),
                )
            )
    # A middle that lies nowhere in its file would be read by nobody.
    is_whole = sum(share.rows for share in shares) == sum(size.record_count for size in sizes)
    return tuple(shares) if shares and is_whole else None


def write_scanned(job: WriteJob, shares: Sequence[FileShare], runner: TaskRunner) -> bool:
    """Write and commit the rows of files, in the tasks that read them.

    Args:
        job: a write whose rows may stay in the tasks that read them.
        shares: its tasks, at least one.
        runner: runs them.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``commit_write``; or a file could not be read or written.
    """
    answers = runner.run(
        partial(_write_share, job.work, source_access(job).open_input),
        [Task(value=share, rows=share.rows) for share in shares],
        title=f"write {job.identifier}",
        progress=SilentProgress(),
    )
    results = [answer for answer in answers if answer is not None]
    if len(results) < len(shares):
        abort_write(job, results)
        return False
    with job.target.deleted_on_failure(results):
        rows, expected = sum(each.rows_in for each in results), sum(each.rows for each in shares)
        if rows != expected:
            raise InternalError(f"{rows} rows were read; expected {expected}, as the files have")
    commit_write(job, results)
    return True


def _write_share(
    work: WriteWork, open_file: Callable[[str], Any], share: FileShare
) -> TaskResult | None:
    """Write the rows of one task; None: they are to be refused by others, or read by Spark."""
    try:
        return write_task(
            work, share.batches(open_file), partition_id=share.number, task_id=share.number
        )
    except REFUSED:
        return None


def _covers(scanned: Sequence[Sequence[FilePiece]], sizes: dict[str, int]) -> bool:
    """Say whether each byte of each file is in exactly one piece."""
    pieces = sorted((piece.path, piece.start, piece.end) for share in scanned for piece in share)
    ends = dict.fromkeys(sizes, 0)
    for path, start, end in pieces:
        if ends.get(path) != start or end <= start:
            return False
        ends[path] = end
    return ends == sizes
