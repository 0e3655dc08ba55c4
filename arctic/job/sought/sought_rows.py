"""Which rows of a table can equal those of a large source: by ranges of columns, and by nodes.

Rules:
    - A row that could equal one of the source is in the ranges and the nodes.
    - They are told only where a plan by them reads so much less that testing them pays.

Must not know: engines, how they compute what a column is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic.columns.value_ranges import ValueRanges, whole_numbers
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import on_newest_state
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.plan_rows import plan_rows
from arctic.job.sought.source_parts import SoughtKey, SoughtPart
from arctic.table.files import TableFile
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate, conjunction
from arctic.table.table_description import Column, TableDescription
from arctic.tree.key_hash import type_name
from arctic.tree.touched_nodes import TouchedNodes

LEAST_BYTES = 32 * 2**20
"""Of a table's data files: less is read before a source has been looked at."""
_MOST_SHARE = 0.5
"""Of these bytes, that a source may have: a larger one meets most rows."""
_WORTHWHILE = 0.9
"""Of these bytes: where more are left, filters cost more than they spare."""
_MOST_MASK = 2**12 - 1
"""Of nodes that are told apart."""
_TOLD = frozenset({"int", "long", "date", "timestamp", "timestamptz", "string", "decimal"})
"""Types whose values are the same ones in a source, in bounds of files and in hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a scan of the rows need not read."""

    reads_less: bool
    """Whether the ranges of columns leave out enough, by the bounds of files."""
    nodes: TouchedNodes | None
    """Outside of which no row is sought; None: they are of no use."""


class SoughtTable:
    """A table whose rows are sought, in the state in which it was looked at."""

    def __init__(self, asked: AskedRead, columns: Sequence[str | None]) -> None:
        """Look at the table.

        Args:
            asked: a read of it.
            columns: for each column of the source the one that it must equal, and has the type of;
                None: more than a column.

        Raises:
            ArcticError: as ``begin_scan``.
        """
        self._asked = asked
        self._opened = asked.reference.open()
        self._columns = _told_columns(self._opened.table, columns)
        all_files = self._files(None, None)
        self.bytes = sum(file.size_bytes for file in all_files)
        """Of the data files of a read of all rows."""
        mask = max((file.node.mask for file in all_files), default=0)
        self.key = _key(self._opened.table, self._columns, min(mask, _MOST_MASK))
        """None: the source does not say the whole key, or all keys lie in one node."""

    def is_worth_a_look(self, source_bytes: int | None) -> bool:
        """Say whether to look at the source may spare more than it costs.

        Args:
            source_bytes: of the source, as an engine thinks; None: nobody knows.
        """
        if self.bytes < LEAST_BYTES:
            return False
        return source_bytes is None or source_bytes <= _MOST_SHARE * self.bytes

    def sought(self, found: SoughtPart) -> Sought:
        """Return what a scan need not read, by what all rows of the source say."""
        table, nodes = self._opened.table, None
        if self.key is not None and found.indexes is not None:
            touched = TouchedNodes(mask=self.key.mask, indexes=found.indexes)
            nodes = touched if self._is_less(None, touched) else None
        tests = tuple(
            _test(table.column(name), ranges)
            for name, ranges in zip(self._columns, found.columns, strict=True)
            if name is not None and ranges is not None
        )
        return Sought(reads_less=self._is_less(conjunction(tests), None), nodes=nodes)

    def _is_less(self, row_filter: Predicate | None, nodes: TouchedNodes | None) -> bool:
        left = sum(file.size_bytes for file in self._files(row_filter, nodes))
        return left <= _WORTHWHILE * self.bytes

    def _files(
        self, row_filter: Predicate | None, nodes: TouchedNodes | None
    ) -> tuple[TableFile, ...]:
        def planned(opened: OpenTable) -> tuple[TableFile, ...]:
            settings = self._asked.settings(opened)
            plan = plan_rows(opened, pin(opened), settings, row_filter=row_filter, nodes=nodes)
            tasks = (task for group in plan.groups for task in group.tasks)
            return tuple(
                {part.file.path: part.file for task in tasks for part in task.data}.values()
            )

        return on_newest_state(self._opened, planned)


def _told_columns(table: TableDescription, columns: Sequence[str | None]) -> tuple[str | None, ...]:
    told = {column.name for column in table.columns if type_name(column.type) in _TOLD}
    return tuple(name if name in told else None for name in columns)


def _key(table: TableDescription, columns: Sequence[str | None], mask: int) -> SoughtKey | None:
    if not mask or not set(table.primary_key) <= set(columns):
        return None
    return SoughtKey(
        places=tuple(columns.index(name) for name in table.primary_key),
        types=tuple(column.type for column in table.key_columns),
        mask=mask,
    )


def _test(column: Column, ranges: ValueRanges) -> Predicate:
    lower, upper = plain_values(ranges.lower), plain_values(ranges.upper)
    if ranges.are_values:
        return ColumnTest.of(Op.IN, column, tuple(lower))
    return Or(
        tuple(
            And((ColumnTest.of(Op.GE, column, low), ColumnTest.of(Op.LE, column, high)))
            for low, high in zip(lower, upper, strict=True)
        )
    )


def plain_values(values: pa.Array) -> list[Any]:
    """Return values as filters have them: days, microseconds, decimals, texts."""
    return list(whole_numbers(values).to_pylist())
