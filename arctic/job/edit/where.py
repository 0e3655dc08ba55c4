"""The rows that a condition means: by the project's own filter, or by SQL where that is not enough.

A filter of the project prunes partitions, files and row groups; what it does not know is evaluated
on the rows, which are then all read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.field_ids import known_field_id
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.edit.expressions import mentioned
from arctic.job.edit.sql_rows import mask
from arctic.job.write.beside.read_rows import ReadRows
from arctic.mor.filters.evaluate_filter import comparison_type, matching_rows
from arctic.table.filters.predicate import Predicate, tests_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A condition on rows of one table."""

    schema: pa.Schema
    predicate: Predicate | None
    """None: only SQL can say it, or it is no condition at all."""
    sql: str | None

    @classmethod
    def of(cls, opened: OpenTable, given: Any) -> Where:
        """Read a condition; None is true of every row.

        Raises:
            InvalidInputError: it cannot be understood.
        """
        schema = opened.arrow_schema
        if given is None:
            return cls(schema=schema, predicate=None, sql=None)
        try:
            return cls(schema=schema, predicate=parse_filter(given, opened), sql=None)
        except (InvalidInputError, UnsupportedError):
            if not isinstance(given, str):
                raise
            mask(schema.empty_table(), given)
            return cls(schema=schema, predicate=None, sql=given)

    @property
    def columns(self) -> set[str]:
        """The columns that ``mask`` needs."""
        if self.sql is not None:
            return mentioned([self.sql], self.schema.names)
        return {test.column for test in tests_of(self.predicate)}

    @property
    def read(self) -> ReadRows:
        """What a command has read that changes each row of its condition."""
        return ReadRows(sees=self.meets, columns=frozenset(self.columns), predicate=self.predicate)

    def matching(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the rows of each batch for which the condition is true.

        Args:
            batches: read with ``predicate`` as their filter.
        """
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            yield rows if self.sql is None else rows.filter(pa.array(self.mask(rows)))

    def meets(self, rows: pa.Table) -> bool:
        """Say whether the condition is true of some row."""
        return bool(self.mask(rows).any())

    def mask(self, rows: pa.Table) -> np.ndarray:
        """Say for each row whether the condition is true of it."""
        if self.sql is not None:
            return mask(rows, self.sql)
        if self.predicate is None:
            return np.ones(rows.num_rows, dtype=bool)
        ids = {test.field_id for test in tests_of(self.predicate)}
        columns = {}
        for field in self.schema:
            if known_field_id(field) in ids:
                column = rows.column(field.name).combine_chunks()
                columns[known_field_id(field)] = pc.cast(column, comparison_type(field.type))
        return matching_rows(self.predicate, columns, rows.num_rows)
