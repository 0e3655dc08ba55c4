"""One write: begin where the catalog is, write tasks anywhere, commit once.

Rules:
    - Everything that can be refused without reading rows is refused in ``begin_write``.
    - A job and its results pickle: they go between the driver and its executors.
    - A commit deletes the files of a write only when it knows that they were not committed.
    - Columns may be renamed or dropped meanwhile: a write finishes with those it began with.
    - A batch of a stream is committed once, however often it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    InternalError,
)
from arctic.iceberg.catalog import CatalogConfig
from arctic.iceberg.commit import CommitResult, commit_append, commit_overwrite
from arctic.iceberg.commit_notes import BatchLandedError
from arctic.iceberg.manifests import list_files
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.pin import pin
from arctic.job.locate import LastingLocator, RowLocator, locate_rows
from arctic.job.looked_up import commit_looked_up, open_again
from arctic.job.newest_state import on_newest_state
from arctic.job.plan_shuffle import plan_shuffle
from arctic.job.prepare_write import assumes_stable, is_dynamic, may_stay, prepare_write
from arctic.job.reference import parse_reference
from arctic.job.shuffle import ShufflePlan
from arctic.job.stream_job import batch_of, has_landed, writer_of
from arctic.job.unreferenced import delete_results, deleted_on_failure
from arctic.job.write_task import WriteWork
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.files import Partition, WrittenFile
from arctic.table.stream_batch import StreamBatch
from arctic.table.watermark import Watermark
from arctic.write.event_time import watermark_of
from arctic.write.plan_commit import plan_append, plan_overwrite
from arctic.write.target import TaskResult, WriteMode, WriteRequest, WriteTarget
from arctic.write.writer import check_key_owners


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """A write that has begun."""

    config: CatalogConfig
    identifier: str
    table_uuid: str
    """Of the base store, so that a table dropped and made anew meanwhile is noticed."""
    replaces_up_to: int
    """An overwrite replaces the changes up to this sequence number, inclusive."""
    work: WriteWork
    """What its tasks do."""
    assume_stable: bool
    """The caller vouches that no key ever changes its partition."""
    locator: RowLocator | None
    """Finds rows that may be in another partition, or keep something; None: neither can be."""
    kept: tuple[str, ...]
    """Columns that the rows lack, whose stored values stay."""
    dynamic: bool
    """An overwrite of the partitions it has rows for only."""
    change_partitions: frozenset[Partition]
    """For an overwrite: partitions with change files up to the pinned sequence number."""
    batch: StreamBatch | None
    """Which batch of which stream this is; None: a write of its own."""
    writer: str | None
    """Who feeds the table with it; None: a save without a name."""

    @property
    def target(self) -> WriteTarget:
        """The table as its tasks see it."""
        return self.work.target

    @property
    def request(self) -> WriteRequest:
        """What is asked of it."""
        return self.work.request


def begin_write(
    options: Mapping[str, str], incoming: pa.Schema, *, overwrite: bool = False
) -> WriteJob:
    """Open the table and check everything that can be checked before the first row.

    Args:
        options: ``path``, catalog and write options.
        incoming: the columns of the rows, helper columns of a shuffle included.
        overwrite: the caller's save mode was overwrite.

    Raises:
        NotFoundError: an unknown table that the options cannot create.
        InvalidInputError: an option, a column or a type that does not fit.
    """
    begun = prepare_write(options, incoming, overwrite=overwrite)
    opened, target = begun.opened, begun.target
    reference = parse_reference(options)
    kept = [opened.arrow_schema.field(name) for name in begun.kept]
    locator = locate_rows(opened, wanted=kept) if begun.locates else None
    batch = batch_of(options)
    landed = has_landed(opened, batch)
    return WriteJob(
        config=reference.config,
        identifier=reference.identifier,
        table_uuid=str(opened.base.metadata.table_uuid),
        replaces_up_to=begun.replaces_up_to,
        work=WriteWork(
            target=target,
            request=begun.request,
            conform=begun.conform,
            locate=locator,
            is_done=landed,
        ),
        assume_stable=assumes_stable(target, options) and not begun.kept,
        locator=locator,
        kept=begun.kept,
        dynamic=is_dynamic(options),
        change_partitions=_change_partitions(opened, begun.request),
        batch=batch,
        writer=writer_of(options),
    )


def work_here(job: WriteJob) -> WriteWork:
    """Return what a task does that runs where the catalog can be asked."""
    if job.locator is None or job.work.is_done:
        return job.work
    opened = open_table(job.config, job.identifier)
    return replace(job.work, locate=LastingLocator(opened=opened, first=job.locator))


def shuffle_plan(
    options: Mapping[str, str], incoming: pa.Schema, *, overwrite: bool = False
) -> ShufflePlan | None:
    """Return how the rows of a write are to be spread over tasks; None: as they are.

    Refuses the same calls as ``begin_write``, so that a caller hears of them before any work.
    """
    begun = prepare_write(options, incoming, overwrite=overwrite)
    plan = plan_shuffle(
        begun.opened,
        options,
        mode=begun.request.mode.value,
        columns=incoming.names,
        looks_up=begun.locates,
    )
    if plan is None:
        return None
    return replace(
        plan,
        # Fixed here, before the rows are read: they may come from the table itself, and what is
        # committed after they were read must survive an overwrite with them.
        options={opt.SPREAD.name: str(begun.replaces_up_to)},
        may_stay=batch_of(options) is None and may_stay(begun),
    )


def commit_write(job: WriteJob, results: Sequence[TaskResult]) -> CommitResult | None:
    """Make the files of all tasks visible in one snapshot.

    Returns:
        The snapshot; None when there was nothing to commit, or the batch is in the table already.

    Raises:
        InvalidInputError: keys that several tasks wrote, where that would be wrong.
        ConflictError: other writers won every retry, or an overwrite raced with upserts that move
            rows between partitions, or columns that an upsert looks up were changed.
        CommitStateUnknownError: the catalog did not answer; the files stay.
    """
    if job.work.is_done:
        return None
    with deleted_on_failure(job.target, results):
        opened = _opened(job, results)
        plan = _plan(job, opened, results)
    try:
        return _commit(job, opened, results, plan)
    except BatchLandedError:
        abort_write(job, results)
        return None
    except (CommitStateUnknownError, InternalError):
        raise
    except ArcticError:
        abort_write(job, results)
        raise


def abort_write(job: WriteJob, results: Sequence[TaskResult]) -> None:
    """Delete the files of a write that was not committed, as far as possible."""
    delete_results(job.target, results)


def _change_partitions(opened: OpenTable, request: WriteRequest) -> frozenset[Partition]:
    """Return the partitions with changes that an overwrite replaces, for none is missing later."""
    if request.mode is not WriteMode.OVERWRITE or not opened.table.is_keyed:
        return frozenset()
    files = on_newest_state(
        opened, lambda: list_files(opened, pin(opened), field_ids=(), row_filter=None)
    )
    return frozenset(file.partition for file in files.change)


def _opened(job: WriteJob, results: Sequence[TaskResult]) -> OpenTable:
    """Return the table as it is now, once it is known to take the files."""
    opened = open_again(job.config, job.identifier, table_uuid=job.table_uuid)
    check_key_owners(
        results,
        table=opened.table,
        request=job.request,
        assume_stable=job.assume_stable,
        open_input=opened.io.open_input,
    )
    return opened


def _plan(
    job: WriteJob, opened: OpenTable, results: Sequence[TaskResult]
) -> AppendFiles | OverwriteBase:
    watermark = _watermark(job, results)
    if job.request.mode is not WriteMode.OVERWRITE:
        return plan_append(results, summary={}, batch=job.batch, watermark=watermark)
    return plan_overwrite(
        results,
        dynamic=job.dynamic,
        change_sequence_number=job.replaces_up_to if opened.table.is_keyed else None,
        # An upsert that looked for its rows in what is replaced here missed the new ones.
        must_be_newest_change=job.target.keys_move,
        change_partitions=job.change_partitions,
        summary={},
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
    if not plan.files:
        return None
    if job.locator is not None:
        return commit_looked_up(
            opened,
            results,
            target=job.target,
            locator=job.locator,
            kept=job.kept,
            batch=plan.batch,
            watermark=plan.watermark,
        )
    return commit_append(opened, plan)


def _watermark(job: WriteJob, results: Sequence[TaskResult]) -> Watermark | None:
    ms = watermark_of(job.target.table, _files(results))
    return None if ms is None else Watermark(ms=ms, writer=job.writer)


def _files(results: Sequence[TaskResult]) -> list[WrittenFile]:
    return [file for result in results for file in result.files]
