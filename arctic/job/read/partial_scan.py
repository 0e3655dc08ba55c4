"""A read of which an engine wants aggregates alone, each task's made where its rows are merged.

It is planned as a read is of which the engine reads what files it can: so the dead rows of files
that it knows are left out by their number here too.

Rules:
    - What an engine would compute otherwise is left to it: see ``_made_here``.

Must not know: engines by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.integers.row_set import RowSet
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import EngineScan, begin_engine_scan
from arctic.job.read.engine_share import Engine
from arctic.job.read.engine_work import engine_work
from arctic.job.read.plan_rows import BATCH_ROWS
from arctic.job.read.read_columns import check_required, check_types, project
from arctic.job.read.read_task import GroupedRows, MergeReader
from arctic.job.rows_seen import rows_seen
from arctic.job.vectors.sent_rows import sent_in_parts
from arctic.job.vectors.vector_work import VectorWork
from arctic.mor.files.dictionary_sizes import dictionary_sizes
from arctic.mor.partial_aggregates import PartialAggregate, PartialGroups
from arctic.scan.aggregate import AggregateKind
from arctic.scan.exact_sums import SummedColumn, is_divided_as_double, sums_stay_exact
from arctic.scan.task import NodeTaskGroup
from arctic.scan.worth_grouping import LEAST_ROWS, KeyChunk, are_few
from arctic.table.files import TableFile
from arctic.table.filters.predicate import Predicate, tests_of
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import Column, TableDescription

_KEYS = frozenset(
    {"boolean", "int", "long", "date", "timestamp", "timestamptz", "string", "binary"}
)
_ORDERED = frozenset({"int", "long", "date", "timestamp", "timestamptz", "string"})
_FLOATS = frozenset({"float", "double"})
_MOST_DIRTY_ROWS = 128 * 2**20
"""Of the files whose dead rows are looked up: 16 MiB of bits in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPartial:
    """What an engine adds up."""

    keys: tuple[str, ...]
    aggregates: tuple[PartialAggregate, ...]
    averaged: tuple[str, ...]
    """Columns whose sums are parts of an average, which it may compute as a double."""
    takes_floats: bool
    """Whether it takes sums of floating-point numbers in any order."""
    yields: pa.Schema
    """What it takes the keys and aggregates to be."""
    relation: pa.Schema
    """The columns that the query takes the table to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialScan:
    """A planned read; pickles."""

    reader: GroupedRows
    groups: tuple[NodeTaskGroup, ...]
    """What each task merges."""
    work: VectorWork | None
    """Looks up the dead rows of files with deletes, as far as they are known; None: of none."""
    snapshot: TableSnapshot
    size_bytes: int
    """Of all data files that are read, all their columns."""
    rows: int
    """In them, deleted ones too."""

    def told(self, dead: Sequence[RowSet]) -> list[tuple[NodeTaskGroup, Mapping[str, bytes]]]:
        """Return what each task reads, and the dead rows of its files, packed.

        Where these are many there are more tasks than groups: each is sent a bounded part.

        Args:
            dead: the dead rows of the files of ``work``, in their order.
        """
        files = () if self.work is None else self.work.files
        known = {file.path: rows.packed() for file, rows in zip(files, dead, strict=True)}
        return [told for group in self.groups for told in sent_in_parts(group, known)]


def plan_partial(
    asked: AskedRead,
    wanted: AskedPartial,
    *,
    filter_for: Callable[[TableDescription], Predicate | None],
    snapshot: TableSnapshot | None,
    parallelism: int,
) -> PartialScan | None:
    """Plan a read of aggregates; None: the rows had better be read, or must be.

    Args:
        asked: what the options say.
        wanted: the aggregates.
        filter_for: says in the columns of the table of which rows they are wanted, exactly.
        snapshot: what another scan of the query has pinned.
        parallelism: cores that the engine has for the query.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a used column of another type.
    """
    if asked.reference.metadata_table is not None or asked.store != "merged":
        return None
    least_rows = LEAST_ROWS * parallelism
    seen_rows = rows_seen(asked.reference)
    if seen_rows is not None and seen_rows < least_rows:
        return None
    opened = asked.opened()
    used = [*wanted.keys, *(each.column for each in wanted.aggregates if each.column is not None)]
    columns = tuple(dict.fromkeys(used))
    known = {*columns, *(test.column for test in tests_of(filter_for(opened.table)))}
    seen = pa.schema([wanted.relation.field(name) for name in sorted(known)])
    check_types(project(opened.arrow_schema, seen.names, table_name=opened.table.name), seen)
    required = [field.name for field in wanted.relation if not field.nullable]
    check_required(opened.arrow_schema, required)
    stored_rows = rows_seen(asked.reference)
    if not _made_here(opened, wanted) or (stored_rows is not None and stored_rows < least_rows):
        return None
    scan = begin_engine_scan(
        asked,
        columns=columns,
        engine=_engine(snapshot, parallelism),
        filter_for=filter_for,
        unreached=lambda io: None,
    )
    if scan.shared is None or not isinstance(scan.reader, MergeReader) or not scan.groups:
        return None
    files = _files(scan)
    rows = scan.shared.rows
    if rows < least_rows or not (wanted.keys or _is_merged(scan)):
        return None
    if wanted.keys and not _are_few(scan, wanted.keys, files):
        return None
    if not _stays_exact(scan, wanted, files):
        return None
    looked_into = {each.column for each in wanted.aggregates}
    request = scan.reader.request.with_dictionaries(set(wanted.keys) - looked_into)
    made = PartialGroups(keys=wanted.keys, aggregates=wanted.aggregates, schema=wanted.yields)
    return PartialScan(
        reader=GroupedRows(reader=replace(scan.reader, request=request), wanted=made),
        groups=scan.groups,
        work=engine_work(scan, most_rows=_MOST_DIRTY_ROWS),
        snapshot=scan.shared.snapshot,
        size_bytes=scan.shared.size_bytes,
        rows=rows,
    )


def _engine(snapshot: TableSnapshot | None, parallelism: int) -> Engine:
    return Engine(
        parallelism=parallelism,
        snapshot=snapshot,
        reads_files=True,
        skips_rows=True,
        takes_groups=False,
        is_filtered=False,
        limit=None,
        own_columns=frozenset(),
        groups=None,
    )


def _made_here(opened: OpenTable, wanted: AskedPartial) -> bool:
    """Say whether each aggregate is one whose parts add up to what the engine would say.

    Keys are compared as bytes or numbers, so those of floating-point numbers are not: there are two
    zeros, and many that are no number.
    """
    columns = {column.name: column for column in opened.table.columns}
    expected = []
    for name in wanted.keys:
        if not _is_of(columns[name], _KEYS):
            return False
        expected.append(opened.arrow_schema.field(name).type)
    for each in wanted.aggregates:
        if each.kind in (AggregateKind.COUNT_ROWS, AggregateKind.COUNT):
            expected.append(pa.int64())
            continue
        column = columns[str(each.column)]
        of_column = opened.arrow_schema.field(column.name).type
        if each.kind is AggregateKind.SUM:
            if column.name in wanted.averaged and is_divided_as_double(column.type):
                return False
            if not _is_of(column, {"int", "long"}) and not (
                wanted.takes_floats and column.type in _FLOATS
            ):
                return False
            expected.append(_sum_type(of_column))
        elif _is_of(column, _ORDERED):
            expected.append(of_column)
        else:
            return False
    return list(wanted.yields.types) == expected


def _is_of(column: Column, types: frozenset[str] | set[str]) -> bool:
    return column.type in types or column.type.startswith("decimal(")


def _sum_type(of_column: pa.DataType) -> pa.DataType:
    if pt.is_decimal(of_column):
        return of_column
    return pa.float64() if pt.is_floating(of_column) else pa.int64()


def _is_merged(scan: EngineScan) -> bool:
    """Say whether an engine does more than to read files: that alone it does as fast."""
    return scan.shared is not None and bool(scan.shared.merged or scan.shared.dirty_tasks)


def _files(scan: EngineScan) -> dict[str, TableFile]:
    return {
        part.file.path: part.file
        for group in scan.groups
        for task in group.tasks
        for part in task.data
    }


def _are_few(scan: EngineScan, keys: Sequence[str], files: Mapping[str, TableFile]) -> bool:
    """Say whether the largest file has few groups."""
    reader: Any = scan.reader
    file = max(files.values(), key=lambda each: (each.record_count, each.path))
    columns = {column.name: column for column in scan.opened.table.columns}
    ids = [columns[key].field_id for key in keys]
    sizes = dictionary_sizes(file, ids, reader.request, reader.io.open_input)
    chunks = [
        KeyChunk(type=columns[key].type, dictionary_bytes=size)
        for key, size in zip(keys, sizes.stored_bytes, strict=True)
    ]
    return are_few(chunks, rows=sizes.rows)


def _stays_exact(scan: EngineScan, wanted: AskedPartial, files: Mapping[str, TableFile]) -> bool:
    """Say whether sums of decimals fit their columns' types, and averages are of exact doubles."""
    table, schema = scan.opened.table, scan.opened.arrow_schema
    summed = {each.column for each in wanted.aggregates if each.kind is AggregateKind.SUM}
    bounded = []
    for column in table.columns:
        of_column = schema.field(column.name).type
        if column.name in summed and pt.is_decimal(of_column):
            digits = of_column.precision, of_column.scale
            bounded.append(SummedColumn(column=column, digits=digits))
        elif column.name in summed.intersection(wanted.averaged) and column.type not in _FLOATS:
            bounded.append(SummedColumn(column=column, digits=None))
    if not bounded:
        return True
    if table.fold is not None or scan.shared is None:
        return False  # rows have values that are in no file
    listed = list_files(
        scan.opened,
        scan.shared.snapshot,
        field_ids={each.column.field_id for each in bounded},
        row_filter=None,
        with_merged=bool(table.order_columns),
    )
    read = [file for file in (*listed.base, *listed.change) if file.path in files]
    return len(read) == len(files) and sums_stay_exact(bounded, read, at_once=BATCH_ROWS)
