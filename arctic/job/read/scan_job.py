"""One read: pin, list, plan; then each group is read wherever it is sent.

Rules:
    - ``begin_scan`` runs once, where the catalog can be reached; what it returns is complete.
    - A reader and its groups pickle: they go to executors, which never see a catalog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError, InvalidInputError, StorageError
from arctic.iceberg.metadata.collector import collector_paused
from arctic.iceberg.snapshots.inspect import metadata_schema, metadata_table
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.newest_state import expired_under, on_newest_state
from arctic.job.read.read_ahead import read_ahead
from arctic.job.read.read_columns import change_columns, project
from arctic.job.read.read_settings import ReadSettings
from arctic.job.read.read_task import ArrowReader, GroupReader, MergeReader
from arctic.job.reference import parse_reference
from arctic.mor.request import META_FIELDS, ReadRequest
from arctic.options import Scope
from arctic.scan.plan_scan import ScanPlan, plan_scan
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.store_files import StoreFiles
from arctic.table.filters.predicate import Predicate, tests_of
from arctic.table.snapshot import TableSnapshot

MAX_THREADS = 4
"""Groups that one process reads at a time: each holds deletes and row groups of its own."""
BATCH_ROWS = 65_536
"""Rows a batch: measured as the fastest hand-over from Python to the JVM."""


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
    why_gone: Callable[[StorageError], ConflictError | None]
    """What to say of a file that is gone, where the catalog can be asked; None: nothing else."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read every group here, up to ``MAX_THREADS`` at a time; the order is always the same.

        Raises:
            ConflictError: the state expired while it was read.
        """
        threads = 1 if self.plan is None else self.plan.options.parallelism
        readings = [partial(self.reader.read, group) for group in self.groups]
        try:
            yield from read_ahead(readings, min(threads, MAX_THREADS))
        except StorageError as error:
            expired = self.why_gone(error)
            if expired is None:
                raise
            raise expired from error

    def table(self) -> pa.Table:
        """Read every group into memory."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)


def table_schema(options: Mapping[str, str]) -> pa.Schema:
    """Return the schema of what a read with these options yields.

    Raises:
        InvalidInputError: an unknown option or column, or a bad value.
        NotFoundError: an unknown table.
    """
    opt.check_known(options, Scope.READ)
    reference = parse_reference(options)
    opened = open_table(reference.config, reference.identifier)
    schema = _full_schema(reference.metadata_table, opened, opt.STORE.value(options))
    return project(schema, opt.COLUMNS.value(options), table_name=opened.table.name)


def begin_scan(
    options: Mapping[str, str],
    *,
    columns: Sequence[str] | None = None,
    row_filter: Predicate | None = None,
) -> ScanJob:
    """Pin the table's state and plan the read of it.

    Args:
        options: ``path``, catalog and read options.
        columns: columns to read, in this order; else the ``columns`` option; else all.
        row_filter: rows that do not match are left out.

    Raises:
        InvalidInputError: an unknown option or column, or a bad value.
        NotFoundError: an unknown table or snapshot.
        UnsupportedError: content that would be read wrongly.
    """
    opt.check_known(options, Scope.READ)
    reference = parse_reference(options)
    return scan_opened(
        open_table(reference.config, reference.identifier),
        options,
        metadata_name=reference.metadata_table,
        columns=columns,
        row_filter=row_filter,
        is_fresh=True,
    )


def scan_opened(
    opened: OpenTable,
    options: Mapping[str, str],
    *,
    metadata_name: str | None = None,
    columns: Sequence[str] | None = None,
    row_filter: Predicate | None = None,
    snapshot: TableSnapshot | None = None,
    is_fresh: bool = False,
    rewrites: bool = False,
    set_apart: SetApart = SetApart.NOTHING,
) -> ScanJob:
    """Plan a read of a table that is open already.

    Args:
        opened: the table.
        options: read options.
        metadata_name: the metadata table that is meant; None for the rows.
        columns: as for ``begin_scan``.
        row_filter: as for ``begin_scan``.
        snapshot: the state to read, where another scan of the same query has pinned it.
        is_fresh: the table was opened just now.
        rewrites: the rows are written again.
        set_apart: which files the caller reads by itself. They may be in the plan's
            ``clean_groups`` and ``dirty_groups``, and the job does not read them.
    """
    wanted = columns if columns is not None else opt.COLUMNS.value(options)
    store = opt.STORE.value(options)
    schema = project(
        _full_schema(metadata_name, opened, store), wanted, table_name=opened.table.name
    )

    def planned(is_fresh: bool) -> ScanJob:
        state = snapshot or pin(
            opened,
            snapshot_id=opt.SNAPSHOT_ID.value(options),
            as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
            version=opt.VERSION.value(options),
            is_fresh=is_fresh,
        )
        if metadata_name is not None:
            return _metadata_job(opened, state, metadata_name, schema)
        settings = ReadSettings.of(options, opened.table.properties)
        settings = settings.for_rewriting() if rewrites else settings
        plan = _plan(opened, state, settings, store, row_filter, set_apart)
        request = merge_request(opened, settings, schema=schema, row_filter=row_filter)
        return ScanJob(
            schema=schema,
            groups=plan.groups,
            reader=MergeReader(request=request, io=opened.io),
            plan=plan,
            why_gone=partial(expired_under, opened, state),
        )

    return on_newest_state(opened, planned, is_fresh=is_fresh)


def merge_request(
    opened: OpenTable,
    settings: ReadSettings,
    *,
    schema: pa.Schema,
    row_filter: Predicate | None,
) -> ReadRequest:
    """Return what the tasks of a read want of every file.

    Args:
        opened: the table.
        settings: of the read.
        schema: exactly what every batch has.
        row_filter: rows that do not match are left out.
    """
    return ReadRequest(
        schema=schema,
        key=pa.schema([opened.arrow_schema.field(name) for name in opened.table.primary_key]),
        key_types=tuple(column.type for column in opened.table.key_columns),
        row_filter=row_filter,
        max_delete_bytes=settings.max_delete_bytes,
        batch_rows=BATCH_ROWS,
        verifies_pages=settings.verifies_pages,
        name_mapping=_name_mapping(opened.table.properties),
        identity_partitions={
            field.source_id: place
            for place, field in enumerate(opened.table.partition_fields)
            if field.transform == "identity"
        },
    )


def _plan(
    opened: OpenTable,
    snapshot: TableSnapshot,
    settings: ReadSettings,
    store: str,
    row_filter: Predicate | None,
    set_apart: SetApart,
) -> ScanPlan:
    table = opened.table
    tested = (test.field_id for test in tests_of(row_filter))
    field_ids = {*(column.field_id for column in table.key_columns), *tested}
    if store == "change" and not table.is_keyed:
        raise InvalidInputError(f"table {table.name!r} has no primary key, hence no change store")
    files = list_files(opened, snapshot, field_ids=field_ids, row_filter=row_filter)
    asked = merged_input(
        opened, snapshot, files, settings, row_filter=row_filter, set_apart=set_apart
    )
    if store != "merged":
        alone = files.of_base() if store == "base" else files.of_change()
        asked = replace(
            asked, is_merged_view=False, files=alone, key=(), set_apart=SetApart.NOTHING
        )
    return planned_without_pauses(asked)


def merged_input(
    opened: OpenTable,
    snapshot: TableSnapshot,
    files: StoreFiles,
    settings: ReadSettings,
    *,
    row_filter: Predicate | None = None,
    set_apart: SetApart = SetApart.NOTHING,
) -> ScanInput:
    """Return what a plan of the merged view is made of.

    Args:
        opened: the table.
        snapshot: the state that the files are of.
        files: with bounds of the key columns and of those that the filter tests.
        settings: of the read.
        row_filter: rows that do not match are left out.
        set_apart: as for ``scan_opened``.
    """
    table = opened.table
    return ScanInput(
        table_name=table.name,
        is_merged_view=True,
        files=files,
        snapshot=snapshot,
        key=table.key_columns,
        row_filter=row_filter,
        options=settings.division,
        set_apart=set_apart,
    )


def planned_without_pauses(asked: ScanInput) -> ScanPlan:
    """Plan, while the cycle collector waits: a plan of many files is objects without a cycle."""
    with collector_paused():
        return plan_scan(asked)


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
        schema=schema, groups=(group,), reader=reader, plan=None, why_gone=_nothing_to_say
    )


def _nothing_to_say(error: StorageError) -> None:
    """Stand for what is read without files."""


def _full_schema(metadata_name: str | None, opened: OpenTable, store: str) -> pa.Schema:
    if metadata_name is not None:
        return metadata_schema(metadata_name, opened)
    if store == "merged":
        return opened.arrow_schema
    if store == "base":
        return pa.schema([*opened.arrow_schema, *META_FIELDS])
    return change_columns(opened)


def _name_mapping(properties: Mapping[str, str]) -> Mapping[str, int] | None:
    text = properties.get("schema.name-mapping.default")
    if text is None:
        return None
    return {
        name: field["field-id"]
        for field in json.loads(text)
        if "field-id" in field
        for name in field["names"]
    }
