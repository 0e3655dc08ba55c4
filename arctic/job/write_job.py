"""One write: begin where the catalog is, write tasks anywhere, commit once.

Rules:
    - Everything that can be refused without reading rows is refused in ``begin_write``.
    - A job and its results pickle: they go between the driver and its executors.
    - A commit deletes the files of a write only when it knows that they were not committed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InternalError,
    InvalidInputError,
)
from arctic.iceberg.catalog import CatalogConfig
from arctic.iceberg.commit import CommitResult, commit_append, commit_overwrite
from arctic.iceberg.manifests import list_files
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.pin import pin
from arctic.job.locate import RowLocator, locate_rows
from arctic.job.moved_rows import ADDED_DELETES_TASK, commit_over_moved_rows
from arctic.job.reference import parse_reference
from arctic.job.shuffle import (
    ARRIVAL_COLUMN,
    HELPER_COLUMNS,
    TASK_COLUMN,
    ShufflePlan,
    plan_shuffle,
)
from arctic.job.target_table import open_or_create
from arctic.options import Scope
from arctic.table.files import Partition
from arctic.table.snapshot import TableSnapshot
from arctic.write.conform import Conform
from arctic.write.plan_commit import plan_append, plan_overwrite
from arctic.write.target import (
    TaskId,
    TaskResult,
    WriteMode,
    WriteOptions,
    WriteRequest,
    WriteTarget,
)
from arctic.write.writer import check_key_owners, open_writer, plan_write


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """A write that has begun."""

    config: CatalogConfig
    identifier: str
    table_uuid: str
    """Of the base store, so that a table dropped and made anew meanwhile is noticed."""
    replaces_up_to: int
    """An overwrite replaces the changes up to this sequence number, inclusive."""
    target: WriteTarget
    request: WriteRequest
    conform: Conform
    assume_stable: bool
    """The caller vouches that no key ever changes its partition."""
    locator: RowLocator | None
    """Finds rows that may be in another partition; None where that cannot be."""
    dynamic: bool
    """An overwrite of the partitions it has rows for only."""
    change_partitions: frozenset[Partition]
    """For an overwrite: partitions with change files up to the pinned sequence number."""


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
    begun = _prepare(options, incoming, overwrite=overwrite)
    opened, target = begun.opened, begun.target
    partitions: frozenset[Partition] = frozenset()
    if begun.request.mode is WriteMode.OVERWRITE and opened.table.is_keyed:
        files = list_files(opened, begun.snapshot, field_ids=(), row_filter=None)
        partitions = frozenset(file.partition for file in files.change)
    reference = parse_reference(options)
    return WriteJob(
        config=reference.config,
        identifier=reference.identifier,
        table_uuid=str(opened.base.metadata.table_uuid),
        replaces_up_to=begun.replaces_up_to,
        target=target,
        request=begun.request,
        conform=begun.conform,
        assume_stable=_assumes_stable(target, options),
        locator=locate_rows(opened) if begun.locates else None,
        dynamic=_is_dynamic(options),
        change_partitions=partitions,
    )


def shuffle_plan(
    options: Mapping[str, str], incoming: pa.Schema, *, overwrite: bool = False
) -> ShufflePlan | None:
    """Return how the rows of a write are to be spread over tasks; None: as they are.

    Refuses the same calls as ``begin_write``, so that a caller hears of them before any work.
    """
    begun = _prepare(options, incoming, overwrite=overwrite)
    plan = plan_shuffle(
        begun.opened, options, mode=begun.request.mode.value, columns=incoming.names
    )
    if plan is None:
        return None
    # Fixed here, before the rows are read: they may come from the table itself, and what is
    # committed after they were read must survive an overwrite with them.
    return replace(plan, options={opt.SPREAD.name: str(begun.replaces_up_to)})


def write_task(
    job: WriteJob, batches: Iterable[pa.RecordBatch], *, partition_id: int, task_id: int
) -> TaskResult:
    """Write the rows of one task to files that nobody refers to yet.

    Args:
        job: the write.
        batches: rows with the columns that the write began with.
        partition_id: number of the task in the write; unique, and orders its rows.
        task_id: number of the attempt.

    Raises:
        InvalidInputError: a null key or another row that cannot be written, naming it.
    """
    task = TaskId(
        partition_id=partition_id + ADDED_DELETES_TASK + 1,
        task_id=task_id,
        operation_id=secrets.randbits(63),
    )
    writer = open_writer(
        job.target, task, request=job.request, conform=job.conform, locate=job.locator
    )
    try:
        for batch in batches:
            writer.write(batch)
        return writer.close()
    except BaseException:
        writer.abort()
        raise


def commit_write(job: WriteJob, results: Sequence[TaskResult]) -> CommitResult | None:
    """Make the files of all tasks visible in one snapshot.

    Returns:
        The snapshot; None when there was nothing to commit.

    Raises:
        InvalidInputError: keys that several tasks wrote, where that would be wrong.
        ConflictError: other writers won every retry, or an overwrite raced with upserts that move
            rows between partitions.
        CommitStateUnknownError: the catalog did not answer; the files stay.
    """
    try:
        return _commit(job, results)
    except (CommitStateUnknownError, InternalError):
        raise
    except ArcticError:
        abort_write(job, results)
        raise


def abort_write(job: WriteJob, results: Sequence[TaskResult]) -> None:
    """Delete the files of a write that was not committed, as far as possible."""
    job.target.delete_files([file.path for result in results for file in result.files])


def _commit(job: WriteJob, results: Sequence[TaskResult]) -> CommitResult | None:
    opened = open_table(job.config, job.identifier, for_writing=True)
    if str(opened.base.metadata.table_uuid) != job.table_uuid:
        raise ConflictError(
            f"table {job.identifier!r} was dropped and created again during the write; write again"
        )
    check_key_owners(
        results,
        table=opened.table,
        request=job.request,
        assume_stable=job.assume_stable,
        open_input=opened.io.open_input,
    )
    if job.request.mode is WriteMode.OVERWRITE:
        return _commit_overwrite(job, opened, results)
    if not any(result.files for result in results):
        return None
    if job.locator is not None:
        return commit_over_moved_rows(opened, results, target=job.target, locator=job.locator)
    return commit_append(opened, plan_append(results, summary={}))


def _commit_overwrite(
    job: WriteJob, opened: OpenTable, results: Sequence[TaskResult]
) -> CommitResult | None:
    plan = plan_overwrite(
        results,
        dynamic=job.dynamic,
        change_sequence_number=job.replaces_up_to if opened.table.is_keyed else None,
        # An upsert that looked for its rows in what is replaced here missed the new ones.
        must_be_newest_change=job.target.keys_move,
        change_partitions=job.change_partitions,
        summary={},
    )
    return commit_overwrite(opened, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """What is known of a write before its first row, where the catalog can be reached."""

    opened: OpenTable
    snapshot: TableSnapshot
    replaces_up_to: int
    request: WriteRequest
    target: WriteTarget
    locates: bool
    conform: Conform


def _prepare(options: Mapping[str, str], incoming: pa.Schema, *, overwrite: bool) -> _Begun:
    opt.check_known(options, Scope.WRITE)
    mode = _mode(options, overwrite=overwrite)
    opened = open_or_create(options, incoming)
    snapshot = pin(opened)
    spread_at = _spread_at(options, incoming, snapshot)
    replaces_up_to = snapshot.change_sequence_number if spread_at is None else spread_at
    exact_order = not any(type_.startswith(("float", "double")) for type_ in _key_types(opened))
    request = WriteRequest(
        mode=mode,
        action_column=opt.ACTION_COLUMN.value(options),
        ordering_column=opt.ORDERING_COLUMN.value(options),
        arrival_column=None if spread_at is None else ARRIVAL_COLUMN,
        ignored_columns=() if spread_at is None else (TASK_COLUMN,),
        # Spark sorts a negative zero as equal to zero; as keys they differ.
        sorted_input=spread_at is not None and (exact_order or mode is not WriteMode.OVERWRITE),
        transaction_id=replaces_up_to if mode is WriteMode.OVERWRITE else 0,
    )
    target = _target(opened, options)
    locates = _must_locate(target, request, options)
    conform = plan_write(
        opened.table, opened.arrow_schema, incoming, request=request, locates=locates
    )
    if mode is WriteMode.OVERWRITE and _is_dynamic(options) and target.keys_move:
        _refuse_moving_keys(target, options)
    return _Begun(
        opened=opened,
        snapshot=snapshot,
        replaces_up_to=replaces_up_to,
        request=request,
        target=target,
        locates=locates,
        conform=conform,
    )


def _spread_at(
    options: Mapping[str, str], incoming: pa.Schema, snapshot: TableSnapshot
) -> int | None:
    """Return the change sequence number when the rows were spread; None: nobody spread them."""
    spread_at = opt.SPREAD.value(options)
    reserved = [name for name in HELPER_COLUMNS if name in incoming.names]
    if spread_at is None and reserved:
        raise InvalidInputError(f"column {reserved[0]!r}: the name is reserved; rename the column")
    if spread_at is not None and (
        len(reserved) < len(HELPER_COLUMNS) or not 0 <= spread_at <= snapshot.change_sequence_number
    ):
        raise InvalidInputError(
            f"option {opt.SPREAD.name} = {spread_at}: save() sets it; leave the option out"
        )
    return spread_at


def _refuse_moving_keys(target: WriteTarget, options: Mapping[str, str]) -> None:
    if not _assumes_stable(target, options):
        raise InvalidInputError(
            f"dynamic overwrite of table {target.table.name!r}: its key does not decide the "
            "partition, so a key of the new rows could also stay in a partition that is not "
            "replaced; overwrite the whole table, or set write.upsert.cross-partition=assume-stable"
        )


def _is_dynamic(options: Mapping[str, str]) -> bool:
    return opt.PARTITION_OVERWRITE_MODE.value(options) == "dynamic"


def _key_types(opened: OpenTable) -> tuple[str, ...]:
    return tuple(column.type for column in opened.table.key_columns)


def _mode(options: Mapping[str, str], *, overwrite: bool) -> WriteMode:
    given = opt.WRITE_MODE.value(options)
    if overwrite and given not in (None, "overwrite"):
        raise InvalidInputError(
            f"option write-mode = {given!r} with mode('overwrite'); expected mode('append') with it"
        )
    return WriteMode("overwrite" if overwrite else given or "append")


def _target(opened: OpenTable, options: Mapping[str, str]) -> WriteTarget:
    return WriteTarget(
        table=opened.table,
        schema=opened.arrow_schema,
        partition_arrays=opened.partitioner.arrays,
        partition_path=opened.partitioner.path,
        create_output=opened.io.create_output,
        delete_files=opened.io.delete_quietly,
        options=WriteOptions.from_settings(options, opened.table),
    )


def _must_locate(target: WriteTarget, request: WriteRequest, options: Mapping[str, str]) -> bool:
    if not target.keys_move or request.mode is WriteMode.OVERWRITE:
        return False
    if request.mode is WriteMode.APPEND and request.action_column is None:
        return False
    return not _assumes_stable(target, options)


def _assumes_stable(target: WriteTarget, options: Mapping[str, str]) -> bool:
    return opt.CROSS_PARTITION.value(options, target.table.properties) == "assume-stable"
