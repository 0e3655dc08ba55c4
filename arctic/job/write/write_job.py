"""One write, begun: a value that goes from where the catalog is to its tasks and to the commit.

The table is opened and its state is pinned once, before the first row: what an overwrite replaces
is fixed then, because its rows may come from the table itself, and what is committed after they
were read must survive.

Rules:
    - Everything that can be refused without reading rows is refused in ``begin_write``.
    - A job pickles: it goes between the driver and its executors. What arrives there has no open
      table, and opens it again where it needs one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.commit_notes import has_landed
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import Identity, OpenTable, open_table
from arctic.job.newest_state import on_newest_state
from arctic.job.ordered_table import refuse_ordered
from arctic.job.read.locate import LastingLocator, RowLocator, locate_rows
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.beside.read_rows import ReadRows
from arctic.job.write.shuffle import HELPER_COLUMNS
from arctic.job.write.target_table import (
    few_rows,
    may_move,
    open_or_create,
    planned_rows,
    write_target,
)
from arctic.job.write.write_task import WriteWork
from arctic.table.files import FileKind, Partition
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.stream_batch import StreamBatch
from arctic.writing.target import WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """A write that has begun."""

    opened: OpenTable | None
    """The table as it was found; None in a process that the job was sent to."""
    config: CatalogConfig
    identifier: str
    identity: Identity
    """Of the base store, so that a table dropped and made anew meanwhile is noticed."""
    found_base: int | None
    """The base snapshot that it began with; None: there was none."""
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
    where: Predicate | None
    """An overwrite of every partition for which it holds, and of no other."""
    change_partitions: frozenset[Partition]
    """For an overwrite: partitions with change files up to the pinned sequence number."""
    batch: StreamBatch | None
    """Which batch of which stream this is; None: a write of its own."""
    writer: str | None
    """Who feeds the table with it; None: a save without a name."""
    told_ms: int | None
    """How far event time has come, where the writer says so; None: its rows tell."""
    max_tasks: int | None
    """Tasks that write at most; None: any number."""
    on_top_of: TableSnapshot | None = None
    """The rows were made of this state, and are committed only on what is the same to them; None:
    on any."""
    is_unread: bool = False
    """Nothing was read in that state when the write began, and all may be read in a later one."""
    read: ReadRows | None = None
    """What of that state they were made of; None: perhaps all of it."""
    is_joined: bool = False
    """The rows come out of a join, so out of many tasks: nobody need look whether they are few."""
    owns_keys: bool = False
    """No two tasks have a key in common, whatever files they share a node with: it was seen."""

    def __reduce__(self) -> Any:
        """Travel without the open table, which has a catalog connection."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return _arrived, ({**state, "opened": None},)

    @property
    def target(self) -> WriteTarget:
        """The table as its tasks see it."""
        return self.work.target

    @property
    def request(self) -> WriteRequest:
        """What is asked of it."""
        return self.work.request

    def found(self) -> OpenTable:
        """Return the table as it was found, or where the job was sent to, as it is now."""
        return self.opened or open_table(self.config, self.identifier, takes_branch=True)


def begin_write(asked: AskedWrite, incoming: pa.Schema) -> WriteJob:
    """Open the table, pin its state, and refuse what cannot be written, whatever the rows are.

    Args:
        asked: what the options say.
        incoming: the columns of the rows, as the caller has them.

    Raises:
        NotFoundError: an unknown table that the options cannot create.
        InvalidInputError: an option, a column or a type that does not fit.
    """
    _refuse_private(asked, incoming)
    writer = asked.writer
    opened = open_or_create(asked, incoming)
    target = write_target(opened, asked.settings(opened.table))
    request = asked.request_for(opened.table)
    is_stable = asked.assumes_stable(opened.table)
    moves = may_move(target, request) and not is_stable
    conform = planned_rows(opened, target, opened.arrow_schema, incoming, asked)
    kept = conform.missing_columns if conform.keeps else ()
    began = _began(opened, request, kept, locates=moves or bool(kept))
    if request.mode is WriteMode.OVERWRITE:
        request = replace(request, transaction_id=began.snapshot.change_sequence_number)
    return WriteJob(
        opened=opened,
        config=opened.config,
        identifier=opened.table.name,
        identity=opened.identity,
        found_base=began.snapshot.base_snapshot_id,
        replaces_up_to=began.snapshot.change_sequence_number,
        work=WriteWork(
            target=target,
            request=request,
            conform=conform,
            locate=began.locator,
            is_done=has_landed(opened, asked.batch),
        ),
        assume_stable=is_stable and not kept,
        locator=began.locator,
        kept=kept,
        dynamic=asked.is_dynamic and asked.where is None,
        where=asked.where,
        change_partitions=began.change_partitions,
        batch=asked.batch,
        writer=writer,
        told_ms=asked.told_ms,
        max_tasks=asked.max_tasks,
    )


def joining_few(job: WriteJob) -> WriteJob:
    """Return a write of few tasks: few rows of a small table go to fewer nodes."""
    work, options = job.work, job.work.target.options
    if work.is_done:
        return job
    options = replace(options, few_rows=few_rows(job.found(), options))
    return replace(job, work=replace(work, target=replace(work.target, options=options)))


def work_here(job: WriteJob) -> WriteWork:
    """Return what the only task does, which runs where the catalog can be asked."""
    work, opened = joining_few(job).work, job.found()
    if job.locator is None or work.is_done:
        return work
    return replace(work, locate=LastingLocator(opened=opened, first=job.locator))


def _arrived(state: dict[str, Any]) -> WriteJob:
    return WriteJob(**state)


def _refuse_private(asked: AskedWrite, incoming: pa.Schema) -> None:
    reserved = [name for name in HELPER_COLUMNS if name in incoming.names]
    if reserved:
        raise InvalidInputError(f"column {reserved[0]!r}: the name is reserved; rename the column")
    if asked.spread is not None:
        raise InvalidInputError(
            f"option {opt.SPREAD.name} = {asked.spread}: save() sets it; leave the option out"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Began:
    """The state of the table that a write begins with, and what is looked up in it."""

    snapshot: TableSnapshot
    locator: RowLocator | None = None
    change_partitions: frozenset[Partition] = frozenset()


def _began(
    opened: OpenTable, request: WriteRequest, kept: tuple[str, ...], *, locates: bool
) -> _Began:
    if locates:
        wanted = [opened.arrow_schema.field(name) for name in kept]
        locator = locate_rows(opened, wanted=wanted)
        return _Began(snapshot=locator.snapshot, locator=locator)
    replaces = request.mode is WriteMode.OVERWRITE and opened.table.is_keyed
    return on_newest_state(opened, partial(_pinned, replaces))


def _pinned(replaces: bool, opened: OpenTable) -> _Began:
    snapshot = pin(opened)
    if not replaces:
        return _Began(snapshot=snapshot)
    # An overwrite replaces the changes of partitions that base has no file in, too.
    files = list_files(opened, snapshot, field_ids=(), row_filter=None)
    if any(file.kind is FileKind.CHANGE_DELETE for file in files.change):
        # They hold against rows that come later, so against those that follow the new ones too.
        refuse_ordered(opened.table, "overwrite, after the first upsert or delete,")
    return _Began(
        snapshot=snapshot, change_partitions=frozenset(file.partition for file in files.change)
    )
