"""The commit of a write: the files of all its tasks become visible in one snapshot, or none does.

Rules:
    - A commit deletes the files of a write only when it knows that they were not committed.
    - Columns may be renamed or dropped meanwhile: a write finishes with those it began with.
    - A batch of a stream is committed once, however often it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from arctic.errors import ArcticError, CommitStateUnknownError, InternalError, NotFoundError
from arctic.iceberg.commits.commit import commit_append, commit_overwrite
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.commits.commit_notes import BatchLandedError
from arctic.iceberg.commits.move_watermark import advance_watermark
from arctic.iceberg.commits.together.other_store import Check
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.nudge import nudge_service
from arctic.job.write.beside.changes_beside import ChangesBeside
from arctic.job.write.beside.places_beside import check_rows
from arctic.job.write.stored_rows.buried_rows import commit_buried
from arctic.job.write.stored_rows.looked_up import commit_looked_up
from arctic.job.write.target_table import check_same, open_again
from arctic.job.write.write_job import WriteJob
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.watermark import Watermark
from arctic.writing.conform.event_time import watermark_of
from arctic.writing.target import TaskResult, files_of
from arctic.writing.write_request import WriteMode
from arctic.writing.writer import check_key_owners


def commit_write(job: WriteJob, results: Sequence[TaskResult]) -> CommitResult | None:
    """Make the files of all tasks visible in one snapshot.

    Returns:
        The snapshot; None when there was nothing to commit, or the batch is in the table already.

    Raises:
        InvalidInputError: keys that several tasks wrote, where that would be wrong.
        ConflictError: other writers won every retry, or changed what an overwrite replaces, or
            it raced with upserts that move rows between partitions, or columns that an upsert looks
            up were changed, or somebody changed what the rows were made of.
        CommitStateUnknownError: the catalog did not answer; the files stay.
    """
    if job.work.is_done:
        return None
    with job.target.deleted_on_failure(results):
        opened = _opened(job, results)
        plan = _plan(job, opened, results)
    try:
        commit = _commit(job, opened, results, plan)
    except BatchLandedError:
        abort_write(job, results)
        return None
    except (CommitStateUnknownError, InternalError):
        raise
    except NotFoundError:
        abort_write(job, results)
        open_now(job)  # where another table has the name by now, that is the reason
        raise
    except ArcticError:
        abort_write(job, results)
        raise
    nudge_service(job.identifier)
    return commit


def abort_write(job: WriteJob, results: Sequence[TaskResult]) -> None:
    """Delete the files of a write that was not committed, as far as possible."""
    job.target.delete_results(results)


def _opened(job: WriteJob, results: Sequence[TaskResult]) -> OpenTable:
    """Return the table as it is now, once it is known to take the files."""
    opened = open_now(job)
    if not job.owns_keys:
        check_key_owners(
            results,
            table=opened.table,
            request=job.request,
            assume_stable=job.assume_stable,
            open_input=opened.io.open_input,
        )
    return opened


def open_now(job: WriteJob) -> OpenTable:
    """Open the table of a write as it is now.

    A write may take hours. The embedded catalog has no connection that could have died meanwhile
    and no token that could be over; any other is opened anew.
    """
    if job.opened is not None and job.config.name is None:
        return open_again(job.opened, identity=job.identity)
    opened = open_table(job.config, job.identifier, for_writing=True, takes_branch=True)
    check_same(opened, identity=job.identity)
    return opened


def _plan(
    job: WriteJob, opened: OpenTable, results: Sequence[TaskResult]
) -> AppendFiles | OverwriteBase:
    watermark = _watermark(job, results)
    if job.request.mode is not WriteMode.OVERWRITE:
        return AppendFiles(
            files=files_of(results),
            on_top_of=job.on_top_of,
            batch=job.batch,
            watermark=watermark,
        )
    return OverwriteBase(
        files=files_of(results),
        dynamic=job.dynamic,
        where=job.where,
        planned_at=job.found_base,
        change_sequence_number=job.replaces_up_to if opened.table.is_keyed else None,
        # An upsert that looked for its rows in what is replaced here missed the new ones.
        must_be_newest_change=job.target.keys_move,
        change_partitions=job.change_partitions,
        batch=job.batch,
        watermark=watermark,
    )


def _commit(
    job: WriteJob,
    opened: OpenTable,
    results: Sequence[TaskResult],
    plan: AppendFiles | OverwriteBase,
) -> CommitResult | None:
    if isinstance(plan, OverwriteBase):
        return commit_overwrite(opened, plan)
    if job.request.knows_places:
        return commit_buried(
            job,
            opened,
            results,
            opened_now=partial(open_now, job),
            watermark=plan.watermark,
        )
    if not plan.files and not plan.moves:
        if plan.watermark is not None and job.told_ms is not None:
            advance_watermark(opened, plan.watermark)
        return None
    if job.locator is not None and job.on_top_of is None and plan.files:
        return commit_looked_up(
            opened,
            results,
            target=job.target,
            locator=job.locator,
            kept=job.kept,
            batch=plan.batch,
            watermark=plan.watermark,
        )
    check = None if job.on_top_of is None else _check(job, opened, results, job.on_top_of)
    return commit_append(opened, plan, check=check)


def _check(
    job: WriteJob, opened: OpenTable, results: Sequence[TaskResult], before: TableSnapshot
) -> Check | None:
    """Return what refuses heads with other rows than were read; None: what the plan says is all."""
    if not opened.table.is_keyed:
        return partial(check_rows, since=before)
    if job.read is None:
        return None
    return ChangesBeside(
        opened,
        results,
        schema=job.target.schema,
        key=job.target.key,
        before=before,
        read=job.read,
    )


def _watermark(job: WriteJob, results: Sequence[TaskResult]) -> Watermark | None:
    ms = job.told_ms
    if ms is None:
        ms = watermark_of(job.target.table, files_of(results))
    return None if ms is None else Watermark(ms=ms, writer=job.writer)
