"""The order of rows by some columns, as whole columns are compared.

Rules:
    - It is the order of Arrow's and Spark's ascending sorts: texts by their bytes, NaN above every
      number, nulls last.

Must not know: files, deletes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_NAN, _NULL = 1, 2


@dataclass(frozen=True, slots=True)
class RowKey:
    """The values of the order columns of one row; compares as rows do."""

    values: tuple[Any, ...]
    """Arrow scalars."""

    def __lt__(self, other: RowKey) -> bool:
        """Say whether a row comes before another one."""
        return self._ranks() < other._ranks()

    def __le__(self, other: RowKey) -> bool:
        """Say whether a row does not come after another one."""
        return self._ranks() <= other._ranks()

    def _ranks(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(_rank(value) for value in self.values)


def sort_rows(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows in order, in memory of their own."""
    return rows.take(ascending(rows, columns))


def ascending(rows: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Return the row numbers in order; rows that are equal stay as they come."""
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in columns])


def least_row(rows: pa.Table, columns: Sequence[str]) -> RowKey:
    """Return the order columns of the first row in order.

    Args:
        rows: at least one.
        columns: most significant first.
    """
    return _extreme(rows, columns, greatest=False)


def greatest_row(rows: pa.Table, columns: Sequence[str]) -> RowKey:
    """Return the order columns of the last row in order; of at least one row."""
    return _extreme(rows, columns, greatest=True)


def not_after(rows: pa.Table, columns: Sequence[str], limit: RowKey) -> np.ndarray:
    """Say for each row whether it comes before a row, or is its equal."""
    result = np.zeros(rows.num_rows, bool)
    equal = np.ones(rows.num_rows, bool)
    for name, value in zip(columns, limit.values, strict=True):
        column = rows.column(name)
        result |= equal & _below(column, value)
        equal &= _equals(column, value)
    return result | equal


def _extreme(rows: pa.Table, columns: Sequence[str], *, greatest: bool) -> RowKey:
    values = []
    for position, name in enumerate(columns):
        value = _extreme_value(rows.column(name), greatest=greatest)
        values.append(value)
        if position + 1 < len(columns):
            rows = rows.select(list(columns)).filter(pa.array(_equals(rows.column(name), value)))
    return RowKey(tuple(values))


def _extreme_value(column: pa.ChunkedArray, *, greatest: bool) -> Any:
    nulls = column.null_count
    if nulls == len(column) or (greatest and nulls):
        return pa.scalar(None, column.type)
    numbers = column
    if pt.is_floating(column.type):
        nan = pc.is_nan(column)
        numbers = column.filter(pc.invert(nan))
        all_nan = numbers.null_count == len(numbers)
        if all_nan or (greatest and pc.any(nan).as_py()):
            return pa.scalar(float("nan"), column.type)
    return pc.max(numbers) if greatest else pc.min(numbers)


def _rank(value: Any) -> tuple[Any, ...]:
    if not value.is_valid:
        return (_NULL,)
    # Arrow's times go beyond Python's years 1 to 9999; their numbers order alike.
    plain = value.value if pt.is_temporal(value.type) else value.as_py()
    return (_NAN,) if plain != plain else (0, plain)


def _below(column: pa.ChunkedArray, value: Any) -> np.ndarray:
    rank = _rank(value)[0]
    if rank == _NULL:
        return _flags(pc.is_valid(column))
    if rank == _NAN:
        return _flags(pc.invert(pc.is_nan(column)))
    return _flags(pc.less(column, value))


def _equals(column: pa.ChunkedArray, value: Any) -> np.ndarray:
    rank = _rank(value)[0]
    if rank == _NULL:
        return _flags(pc.is_null(column))
    return _flags(pc.is_nan(column) if rank == _NAN else pc.equal(column, value))


def _flags(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.fill_null(column, False).to_numpy())
