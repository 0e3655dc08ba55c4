"""Counts, least and greatest values of all rows, from metadata alone where that is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa

from arctic import options as opt
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.read.read_columns import check_types
from arctic.job.read.read_settings import ReadSettings
from arctic.job.read.scan_job import merged_input, planned_without_pauses
from arctic.job.reference import parse_reference
from arctic.options import Scope
from arctic.scan.aggregate import Aggregate, AggregateKind, aggregate_plan
from arctic.table.files import Value
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAggregates:
    """What metadata says of all rows."""

    values: tuple[Value, ...]
    """One for each aggregate, in Iceberg's internal form; None is null."""
    snapshot: TableSnapshot
    """The state that was asked about."""


def known_aggregates(
    options: Mapping[str, str],
    asked: Sequence[Sequence[str]],
    *,
    relation: pa.Schema,
    snapshot: TableSnapshot | None,
) -> KnownAggregates | None:
    """Return the values of aggregates that a query asks for; None: the rows must be read.

    Args:
        options: ``path``, catalog and read options.
        asked: for each of them its kind, then its column unless it counts rows:
            ``[["count(*)"], ["max", "id"]]``.
        relation: the columns that the query takes the table to have.
        snapshot: what another scan of the query has pinned.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a column of another type, as when
            the rows are read.
    """
    reference = parse_reference(options)
    if reference.metadata_table is not None:
        return None
    opt.check_known(options, Scope.READ)
    opened = open_table(reference.config, reference.identifier)
    check_types(pa.schema([opened.arrow_schema.field(name) for name in relation.names]), relation)
    by_name = {column.name: column for column in opened.table.columns}
    aggregates = [
        Aggregate(kind=AggregateKind(kind), column=by_name[names[0]] if names else None)
        for kind, *names in asked
    ]
    state = snapshot or pin(
        opened,
        snapshot_id=opt.SNAPSHOT_ID.value(options),
        as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
        version=opt.VERSION.value(options),
        is_fresh=True,
    )
    values = aggregate_metadata(opened, state, options, aggregates)
    return None if values is None else KnownAggregates(values=values, snapshot=state)


def aggregate_metadata(
    opened: OpenTable,
    snapshot: TableSnapshot,
    options: Mapping[str, str],
    aggregates: Sequence[Aggregate],
) -> tuple[Value, ...] | None:
    """Return the value of each aggregate over all rows; None: the rows must be read.

    Args:
        opened: the table.
        snapshot: the state that is asked about.
        options: read options.
        aggregates: what is asked.
    """
    if opt.STORE.value(options) != "merged":
        return None
    asked = [aggregate.column for aggregate in aggregates if aggregate.column is not None]
    field_ids = {column.field_id for column in (*opened.table.key_columns, *asked)}
    files = list_files(opened, snapshot, field_ids=field_ids, row_filter=None)
    settings = ReadSettings.of(options, opened.table.properties)
    plan = planned_without_pauses(merged_input(opened, snapshot, files, settings))
    by_path = {file.path: file for file in (*files.base, *files.change)}
    return aggregate_plan(plan, by_path, aggregates)


def count_rows(opened: OpenTable, options: Mapping[str, str]) -> int | None:
    """Return the number of rows; None: they must be read.

    Args:
        opened: the table.
        options: read options, which may name a moment of the past.
    """
    snapshot = pin(
        opened,
        snapshot_id=opt.SNAPSHOT_ID.value(options),
        as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
        version=opt.VERSION.value(options),
    )
    asked = (Aggregate(kind=AggregateKind.COUNT_ROWS, column=None),)
    values = aggregate_metadata(opened, snapshot, options, asked)
    return None if values is None else cast(int, values[0])
