"""Counts, least and greatest values of all rows, from metadata alone where that is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa

from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.plan_rows import merged_input, planned_without_pauses
from arctic.job.read.read_columns import check_types
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
    asked: AskedRead,
    wanted: Sequence[Sequence[str]],
    *,
    relation: pa.Schema,
    snapshot: TableSnapshot | None,
) -> KnownAggregates | None:
    """Return the values of aggregates that a query asks for; None: the rows must be read.

    Args:
        asked: what the options say.
        wanted: for each aggregate its kind, then its column unless it counts rows:
            ``[["count(*)"], ["max", "id"]]``.
        relation: the columns that the query takes the table to have.
        snapshot: what another scan of the query has pinned.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a column of another type, as when
            the rows are read.
    """
    if asked.reference.metadata_table is not None:
        return None
    opened = asked.opened()
    check_types(pa.schema([opened.arrow_schema.field(name) for name in relation.names]), relation)
    by_name = {column.name: column for column in opened.table.columns}
    aggregates = [
        Aggregate(kind=AggregateKind(kind), column=by_name[names[0]] if names else None)
        for kind, *names in wanted
    ]
    state = snapshot or asked.state.pinned(opened)
    values = aggregate_metadata(opened, state, asked, aggregates)
    return None if values is None else KnownAggregates(values=values, snapshot=state)


def aggregate_metadata(
    opened: OpenTable,
    snapshot: TableSnapshot,
    asked: AskedRead,
    aggregates: Sequence[Aggregate],
) -> tuple[Value, ...] | None:
    """Return the value of each aggregate over all rows; None: the rows must be read.

    Args:
        opened: the table.
        snapshot: the state that is asked about.
        asked: what the options say.
        aggregates: what is wanted.
    """
    if asked.store != "merged":
        return None
    table = opened.table
    columns = [aggregate.column for aggregate in aggregates if aggregate.column is not None]
    files = list_files(
        opened,
        snapshot,
        field_ids={column.field_id for column in (*table.key_columns, *columns)},
        row_filter=None,
        with_merged=bool(table.order_columns),
    )
    plan = planned_without_pauses(merged_input(opened, snapshot, files, asked.settings(opened)))
    by_path = {file.path: file for file in (*files.base, *files.change)}
    return aggregate_plan(plan, by_path, aggregates)


def count_rows(opened: OpenTable, asked: AskedRead) -> int | None:
    """Return the number of rows; None: they must be read.

    Args:
        opened: the table.
        asked: what the options say, perhaps a moment of the past.
    """
    count = (Aggregate(kind=AggregateKind.COUNT_ROWS, column=None),)
    values = aggregate_metadata(opened, asked.state.pinned(opened), asked, count)
    return None if values is None else cast(int, values[0])
