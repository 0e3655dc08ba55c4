"""Counts, least and greatest values of all rows, from metadata alone where that is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from arctic import options as opt
from arctic.iceberg.manifests import list_files
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.pin import pin
from arctic.job.scan_job import plan_merged
from arctic.scan.aggregate import Aggregate, AggregateKind, aggregate_plan
from arctic.table.files import Value
from arctic.table.snapshot import TableSnapshot


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
    plan = plan_merged(opened, snapshot, files, options, row_filter=None, sets_apart=None)
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
    )
    asked = (Aggregate(kind=AggregateKind.COUNT_ROWS, column=None),)
    values = aggregate_metadata(opened, snapshot, options, asked)
    return None if values is None else cast(int, values[0])
