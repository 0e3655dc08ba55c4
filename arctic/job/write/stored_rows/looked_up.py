"""Commits of writes that looked stored rows up, which others may have changed meanwhile.

Rows were looked up in a pinned state. So, before each attempt to commit: if a store has moved on,
what the write holds is brought up to the new state by files that are added to it. The commit
holds only if both stores are still where they were looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InternalError,
)
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.commits.commit_notes import BatchLandedError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import on_newest_state
from arctic.job.read.locate import RowLocator, locate_rows
from arctic.job.write.stored_rows.kept_rows import KeptRows
from arctic.job.write.stored_rows.moved_rows import MovedRows
from arctic.job.write.target_table import open_again
from arctic.retry import CATCHING_UP
from arctic.table.commit_plan import AppendFiles
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import Watermark
from arctic.writing.target import TaskResult, WriteTarget, files_of


def commit_looked_up(
    opened: OpenTable,
    results: Sequence[TaskResult],
    *,
    target: WriteTarget,
    locator: RowLocator,
    kept: Sequence[str],
    batch: StreamBatch | None,
    watermark: Watermark | None,
) -> CommitResult | None:
    """Commit the files of a write, with what has changed since its rows were looked up.

    Args:
        opened: the table, opened just now.
        results: of all tasks.
        target: the table as they saw it.
        locator: what they looked rows up with.
        kept: columns whose stored values they took over.
        batch: which batch of which stream this is; None: a write of its own.
        watermark: how far event time has come with the files.

    Memory: the keys of one file of the write, and the rows that others changed.

    Raises:
        BatchLandedError: the batch is in the table already.
        ConflictError: other writers were faster in every round, or changed columns that were
            looked up.
    """
    added: list[TaskResult] = []
    parts: list[MovedRows | KeptRows] = [MovedRows(target, locator)] if target.keys_move else []
    parts += [KeptRows(target, locator, kept)] if kept else []
    open_now = partial(open_again, identity=opened.identity)
    for attempt in CATCHING_UP.tries():
        with target.deleted_on_failure(added, results):
            opened, fresh = on_newest_state(
                open_now(opened) if attempt else opened,
                partial(_look, results, parts, locator),
                again=open_now,
            )
            if fresh.snapshot != locator.snapshot:
                target.delete_results(added)
                added.clear()
                for part in parts:
                    added.extend(part.write(results))
            locator = fresh
            plan = AppendFiles(
                files=files_of([*added, *results]),
                on_top_of=locator.snapshot,
                batch=batch,
                watermark=watermark,
            )
        try:
            return commit_append(opened, plan)
        except BatchLandedError:
            target.delete_results(added)
            raise
        except ConflictError:
            continue
        except (CommitStateUnknownError, InternalError):
            raise
        except ArcticError:
            target.delete_results(added)
            raise
    target.delete_results(added)
    raise ConflictError(
        f"table {opened.table.name!r}: other writers committed during each of "
        f"{CATCHING_UP.most_tries} attempts, and rows were looked up for this write; write again"
    )


def _look(
    results: Sequence[TaskResult],
    parts: Sequence[MovedRows | KeptRows],
    since: RowLocator,
    opened: OpenTable,
) -> tuple[OpenTable, RowLocator]:
    """Return the table as it is now and what searches it, once all have looked at it."""
    fresh = locate_rows(opened, wanted=since.request.schema)
    if fresh.snapshot != since.snapshot:
        for part in parts:
            part.look(opened, results, before=since, now=fresh)
    return opened, fresh
