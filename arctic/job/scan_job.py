"""One read: pin, list, plan; then each group is read wherever it is sent.

Rules:
    - ``begin_scan`` runs once, where the catalog can be reached; what it returns is complete.
    - A reader and its groups pickle: they go to executors, which never see a catalog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError, InvalidInputError, StorageError
from arctic.iceberg.inspect import metadata_schema, metadata_table
from arctic.iceberg.manifests import StoreFiles, list_files
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.pin import pin
from arctic.job.newest_state import expired_under, on_newest_state
from arctic.job.read_ahead import read_ahead
from arctic.job.read_columns import change_columns, project
from arctic.job.read_task import ArrowReader, GroupReader, MergeReader
from arctic.job.reference import parse_reference
from arctic.mor.request import META_FIELDS, ReadRequest
from arctic.options import Scope
from arctic.scan.plan import ScanPlan, plan_scan, plan_store
from arctic.scan.task import ScanOptions
from arctic.table.files import KeyedFile
from arctic.table.predicate import Predicate, tests_of
from arctic.table.snapshot import TableSnapshot

MAX_THREADS = 4
"""Groups that one process reads at a time: each holds deletes and row groups of its own."""
BATCH_ROWS = 65_536
"""Rows a batch: measured as the fastest hand-over from Python to the JVM."""
FOR_REWRITING = {opt.VERIFY_CHECKSUMS.name: "true"}
"""Options of a read whose rows are written again: damage must not get a checksum that fits it."""


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
    schema = _full_schema(reference.metadata_table, opened, options)
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
    )


def scan_opened(
    opened: OpenTable,
    options: Mapping[str, str],
    *,
    metadata_name: str | None = None,
    columns: Sequence[str] | None = None,
    row_filter: Predicate | None = None,
    snapshot: TableSnapshot | None = None,
    sets_apart: Callable[[KeyedFile], bool] | None = None,
    sets_dirty_apart: bool = False,
) -> ScanJob:
    """Plan a read of a table that is open already.

    Args:
        opened: the table.
        options: read options.
        metadata_name: the metadata table that is meant; None for the rows.
        columns: as for ``begin_scan``.
        row_filter: as for ``begin_scan``.
        snapshot: the state to read, where another scan of the same query has pinned it.
        sets_apart: which files the caller can read by itself. Those of them that no delete can
            touch are in the plan's ``clean_groups``, and the job does not read them.
        sets_dirty_apart: whether it can also leave rows out of files by their numbers. Such files
            may be in the plan's ``dirty_groups``, and the job does not read them either.
    """
    wanted = columns if columns is not None else opt.COLUMNS.value(options)
    schema = project(
        _full_schema(metadata_name, opened, options), wanted, table_name=opened.table.name
    )

    def planned() -> ScanJob:
        state = snapshot or pin(
            opened,
            snapshot_id=opt.SNAPSHOT_ID.value(options),
            as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
        )
        if metadata_name is not None:
            return _metadata_job(opened, state, metadata_name, schema)
        plan = _plan(
            opened,
            state,
            options,
            row_filter,
            sets_apart=sets_apart,
            sets_dirty_apart=sets_dirty_apart,
        )
        request = merge_request(opened, options, schema=schema, row_filter=row_filter)
        return ScanJob(
            schema=schema,
            groups=plan.groups,
            reader=MergeReader(request=request, io=opened.io),
            plan=plan,
            why_gone=partial(expired_under, opened, state),
        )

    return on_newest_state(opened, planned)


def merge_request(
    opened: OpenTable,
    options: Mapping[str, str],
    *,
    schema: pa.Schema,
    row_filter: Predicate | None,
) -> ReadRequest:
    """Return what the tasks of a read want of every file.

    Args:
        opened: the table.
        options: read options.
        schema: exactly what every batch has.
        row_filter: rows that do not match are left out.
    """
    return ReadRequest(
        schema=schema,
        key=pa.schema([opened.arrow_schema.field(name) for name in opened.table.primary_key]),
        key_types=tuple(column.type for column in opened.table.key_columns),
        row_filter=row_filter,
        max_delete_bytes=opt.MAX_DELETE_BYTES.value(options, opened.table.properties),
        batch_rows=BATCH_ROWS,
        verifies_pages=opt.VERIFY_CHECKSUMS.value(options, opened.table.properties),
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
    options: Mapping[str, str],
    row_filter: Predicate | None,
    *,
    sets_apart: Callable[[KeyedFile], bool] | None,
    sets_dirty_apart: bool,
) -> ScanPlan:
    table = opened.table
    key_ids = tuple(column.field_id for column in table.key_columns)
    field_ids: Collection[int] = {*key_ids, *(test.field_id for test in tests_of(row_filter))}
    store = opt.STORE.value(options)
    if store == "change" and not table.is_keyed:
        raise InvalidInputError(f"table {table.name!r} has no primary key, hence no change store")
    files = list_files(opened, snapshot, field_ids=field_ids, row_filter=row_filter)
    if store == "merged":
        return plan_merged(
            opened,
            snapshot,
            files,
            options,
            row_filter=row_filter,
            sets_apart=sets_apart,
            sets_dirty_apart=sets_dirty_apart,
        )
    is_base = store == "base"
    return plan_store(
        table_name=table.name,
        files=files.base if is_base else files.change,
        position_deletes=files.position_deletes if is_base else (),
        snapshot=snapshot,
        row_filter=row_filter,
        options=scan_options(options, table.properties),
        already_pruned=files.pruned,
    )


def plan_merged(
    opened: OpenTable,
    snapshot: TableSnapshot,
    files: StoreFiles,
    options: Mapping[str, str],
    *,
    row_filter: Predicate | None,
    sets_apart: Callable[[KeyedFile], bool] | None,
    sets_dirty_apart: bool = False,
) -> ScanPlan:
    """Plan a read of the merged view from files that were listed.

    Args:
        opened: the table.
        snapshot: the state that the files are of.
        files: with bounds of the key columns and of those that the filter tests.
        options: read options.
        row_filter: rows that do not match are left out.
        sets_apart: as for ``scan_opened``.
        sets_dirty_apart: as for ``scan_opened``.
    """
    table = opened.table
    return plan_scan(
        table_name=table.name,
        base=files.base,
        position_deletes=files.position_deletes,
        change=files.change,
        snapshot=snapshot,
        key_ids=tuple(column.field_id for column in table.key_columns),
        key_types=tuple(column.type for column in table.key_columns),
        row_filter=row_filter,
        options=scan_options(options, table.properties),
        already_pruned=files.pruned,
        sets_apart=sets_apart,
        sets_dirty_apart=sets_dirty_apart,
    )


def scan_options(options: Mapping[str, str], properties: Mapping[str, str]) -> ScanOptions:
    """Return how a read is divided."""
    return ScanOptions(
        weight_ratio=opt.WEIGHT_RATIO.value(options, properties),
        parallel_multiple=opt.PARALLEL_MULTIPLE.value(options, properties),
        parallelism=opt.PARALLELISM.value(options, properties) or opt.default_parallelism(),
        target_bytes=opt.TARGET_SIZE.value(options, properties),
        open_file_cost_bytes=opt.OPEN_FILE_COST.value(options, properties),
        vector_min_rows=opt.VECTOR_MIN_ROWS.value(options, properties),
    )


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


def _full_schema(
    metadata_name: str | None, opened: OpenTable, options: Mapping[str, str]
) -> pa.Schema:
    if metadata_name is not None:
        return metadata_schema(metadata_name, opened)
    if opt.STORE.value(options) == "merged":
        return opened.arrow_schema
    if opt.STORE.value(options) == "base":
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
