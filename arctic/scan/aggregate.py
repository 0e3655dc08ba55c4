"""Counts and extremes that a plan knows without reading a row.

Rules:
    - There is an answer only if no delete can touch a file of the plan, and the metadata of each
      file tells what is asked. Otherwise the rows must be read.
    - Bounds count as least and greatest values only in files that a writer of this format has
      named: bounds of other files may be wider than their values.
    - Extremes of floating-point numbers have no answer, because bounds leave NaN out and engines do
      not; those of texts have none, because their bounds may be cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from arctic.scan.plan_scan import ScanPlan
from arctic.table.filename import has_format_name
from arctic.table.files import ColumnBounds, TableFile, Value
from arctic.table.table_description import Column

_EXACT_TYPES = frozenset({"int", "long", "date", "time", "timestamp", "timestamptz"})


class AggregateKind(Enum):
    """What is asked of all rows; the value is how SQL spells it."""

    COUNT_ROWS = "count(*)"
    COUNT = "count"
    MIN = "min"
    MAX = "max"
    SUM = "sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One column of the one row that is asked for."""

    kind: AggregateKind
    column: Column | None
    """None for a count of rows."""

    @property
    def is_answerable(self) -> bool:
        """Whether metadata can say it: what bounds of the column's type are."""
        if self.column is None or self.kind is AggregateKind.COUNT:
            return True
        if self.kind is AggregateKind.SUM:
            return False
        return self.column.type in _EXACT_TYPES or self.column.type.startswith("decimal")


def aggregate_plan(
    plan: ScanPlan, files: Mapping[str, TableFile], aggregates: Sequence[Aggregate]
) -> tuple[Value, ...] | None:
    """Return the value of each aggregate; None: the rows must be read.

    Args:
        plan: a read of all rows.
        files: the data files that the plan was made of, by path, with bounds of the columns.
        aggregates: what is asked.
    """
    if not all(aggregate.is_answerable for aggregate in aggregates):
        return None
    read = []
    for group in (*plan.groups, *plan.clean_groups):
        for task in group.tasks:
            if task.change_deletes or any(part.position_deletes for part in task.data):
                return None
            if task.rivals:
                return None
            read += [files[part.file.path] for part in task.data]
    try:
        return tuple(_value(aggregate, read) for aggregate in aggregates)
    except _NotSaidError:
        return None


class _NotSaidError(Exception):
    """A file does not say what is asked; never leaves this module."""


def _value(aggregate: Aggregate, files: Sequence[TableFile]) -> Value:
    if aggregate.column is None:
        return sum(file.record_count for file in files)
    said = [(file, _bounds(file, aggregate.column)) for file in files if file.record_count]
    if aggregate.kind is AggregateKind.COUNT:
        return sum(file.record_count - _nulls(bounds) for file, bounds in said)
    values: list[Any] = []
    for file, bounds in said:
        if not has_format_name(file.path):
            raise _NotSaidError
        if bounds.lower is None or bounds.upper is None:
            if bounds.null_count != file.record_count:
                raise _NotSaidError
        else:
            values.append(bounds.lower if aggregate.kind is AggregateKind.MIN else bounds.upper)
    if not values:
        return None
    smallest: Value = min(values) if aggregate.kind is AggregateKind.MIN else max(values)
    return smallest


def _bounds(file: TableFile, column: Column) -> ColumnBounds:
    bounds = file.bounds.get(column.field_id)
    if bounds is None:
        raise _NotSaidError
    return bounds


def _nulls(bounds: ColumnBounds) -> int:
    if bounds.null_count is None:
        raise _NotSaidError
    return bounds.null_count
