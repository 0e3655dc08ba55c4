"""One read: pin, list, plan; then each group is read wherever it is sent.

Rules:
    - ``begin_scan`` runs once, where the catalog can be reached; what it returns is complete.
    - A reader and its groups pickle: they go to executors, which never see a catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from arctic.errors import ConflictError, StorageError
from arctic.iceberg.snapshots.inspect import metadata_schema, metadata_table
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import expired_under, on_newest_state
from arctic.job.read.asked_read import AskedRead, ReadSettings, cached_access
from arctic.job.read.plan_rows import merge_request, plan_rows
from arctic.job.read.read_ahead import read_ahead
from arctic.job.read.read_columns import change_columns, project
from arctic.job.read.read_task import (
    ArrowReader,
    GroupReader,
    MergeReader,
    telling_of_expiry,
)
from arctic.job.vectors.known_beforehand import DEAD_BEFOREHAND
from arctic.mor.request import META_FIELDS, PLACE_FIELDS, RowValues
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.scan_input import SetApart
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.tree.touched_nodes import TouchedNodes

MAX_THREADS = 4
"""Groups that one process reads at a time: each holds deletes and row groups of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanJob:
    """A planned read."""

    schema: pa.Schema
    """The exact schema of every batch."""
    groups: tuple[Any, ...]
    """One value for each task, to be handed to ``reader.read``."""
    reader: GroupReader
    plan: ScanPlan | None
    """None for a metadata table."""
    settings: ReadSettings | None
    """In force whoever reads the files; None for a metadata table."""
    why_gone: Callable[[StorageError], ConflictError | None]
    """What to say of a file that is gone, where the catalog can be asked; None: nothing else."""

    def batches(self, *, wants_all: bool = True) -> Iterator[pa.RecordBatch]:
        """Read every group here, up to ``MAX_THREADS`` at a time; in the order of the groups.

        Large files whose dead rows this process knows are read without their deletes.

        Args:
            wants_all: False where whoever takes the batches is going to stop early.

        Raises:
            ConflictError: the state expired while it was read.
        """
        threads = 1 if self.settings is None else self.settings.division.parallelism
        try:
            readings = [partial(self._read, group, wants_all=wants_all) for group in self.groups]
            yield from read_ahead(readings, min(threads, MAX_THREADS))
        except StorageError as error:
            expired = self.why_gone(error)
            if expired is None:
                raise
            raise expired from error

    def table(self) -> pa.Table:
        """Read every group into memory."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def _read(self, group: Any, *, wants_all: bool) -> Iterator[pa.RecordBatch]:
        reader = self.reader
        if isinstance(reader, MergeReader):
            with telling_of_expiry():
                known = DEAD_BEFOREHAND.of(group, reader.request, reader.io, wants_all=wants_all)
            reader, group = replace(reader, dead=known.dead), known.group
        yield from reader.read(group)


def table_schema(asked: AskedRead) -> pa.Schema:
    """Return the columns that an engine is told a read yields, which it keeps for later ones.

    It looks for no null where it was told of none, and takes what stands in the place of one. So
    only columns that never take null are told so, those of the key.

    Raises:
        InvalidInputError: an unknown column.
        NotFoundError: an unknown table.
    """
    opened = asked.reference.open()
    schema = read_schema(opened, asked, asked.columns)
    if asked.reference.metadata_table is not None:
        return schema
    key = opened.table.primary_key
    return pa.schema([each if each.name in key else each.with_nullable(True) for each in schema])


def begin_scan(asked: AskedRead) -> ScanJob:
    """Open a table, and plan the read that the options ask for; raises as ``scan_opened``."""
    return scan_opened(asked.reference.open(), asked)


def scan_opened(
    opened: OpenTable,
    asked: AskedRead,
    *,
    columns: Sequence[str] | None = None,
    row_filter: Predicate | None = None,
    among: RowValues | None = None,
    snapshot: TableSnapshot | None = None,
    parallelism: int | None = None,
    set_apart: SetApart = SetApart.NOTHING,
    takes_others: bool = False,
    nodes: TouchedNodes | None = None,
) -> ScanJob:
    """Plan a read of a table that is open already.

    Args:
        opened: the table, opened just now, unless ``snapshot`` says which state is read.
        asked: what the options say.
        columns: columns to read, in this order; None: as the options say.
        row_filter: rows that do not match are left out.
        among: rows without one of these values are not needed, and may come all the same.
        snapshot: the state to read, where another scan of the same query has pinned it.
        parallelism: tasks at a time, where neither options nor table say it.
        set_apart: which files the caller reads by itself. They may be in the plan's
            ``clean_groups`` and ``dirty_groups``, and the job does not read them.
        takes_others: files of other writers may be among those.
        nodes: rows whose keys lie in none of these are not needed, and may come all the same.

    Raises:
        InvalidInputError: an unknown column.
        NotFoundError: an unknown table or snapshot.
        UnsupportedError: content that would be read wrongly.
    """
    schema = read_schema(opened, asked, columns if columns is not None else asked.columns)

    def planned(opened: OpenTable) -> ScanJob:
        state = snapshot or asked.state.pinned(opened)
        if asked.reference.metadata_table is not None:
            return _metadata_job(opened, state, asked.reference.metadata_table, schema)
        settings = asked.settings(opened, parallelism=parallelism)
        plan = plan_rows(
            opened,
            state,
            settings,
            store=asked.store,
            row_filter=row_filter,
            set_apart=set_apart,
            takes_others=takes_others,
            nodes=nodes,
        )
        request = merge_request(opened, settings, schema=schema, row_filter=row_filter, among=among)
        return ScanJob(
            schema=schema,
            groups=plan.groups,
            reader=MergeReader(request=request, io=cached_access(opened, settings.cache)),
            plan=plan,
            settings=settings,
            why_gone=partial(expired_under, opened, state),
        )

    return on_newest_state(opened, planned)


def _metadata_job(
    opened: OpenTable, snapshot: TableSnapshot, name: str, schema: pa.Schema
) -> ScanJob:
    rows = metadata_table(opened, snapshot, name).select(schema.names).cast(schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_table(rows)
    group = sink.getvalue().to_pybytes()
    reader = ArrowReader(schema=schema)
    return ScanJob(
        schema=schema,
        groups=(group,),
        reader=reader,
        plan=None,
        settings=None,
        why_gone=_nothing_to_say,
    )


def _nothing_to_say(error: StorageError) -> None:
    """Stand for what is read without files."""


def read_schema(
    opened: OpenTable, asked: AskedRead, columns: Sequence[str] | None = None
) -> pa.Schema:
    """Return the schema of what a read of an open table yields; raises as ``table_schema``."""
    full = _full_schema(asked.reference.metadata_table, opened, asked.store)
    if columns is not None and _has_places(opened, asked):
        named = [field for field in PLACE_FIELDS if field.name in columns]
        full = pa.schema([*full, *(field for field in named if field.name not in full.names)])
    return project(full, columns, table_name=opened.table.name)


def _has_places(opened: OpenTable, asked: AskedRead) -> bool:
    """Say whether a row is told apart by where it is stored, as nothing else tells it apart."""
    is_table = asked.reference.metadata_table is None and asked.store == "merged"
    return is_table and not opened.table.is_keyed


def _full_schema(metadata_name: str | None, opened: OpenTable, store: str) -> pa.Schema:
    if metadata_name is not None:
        return metadata_schema(metadata_name, opened)
    if store == "merged":
        return opened.arrow_schema
    if store == "base":
        return pa.schema([*opened.arrow_schema, *META_FIELDS])
    return change_columns(opened)
