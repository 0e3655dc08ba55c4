"""Many rows of a key become one, a whole column at a time.

Strategy: rows come sorted by key, and in the order of events within a key. So a key is a run of
rows, and each function needs to know only where runs begin: which row of a run is picked, or what
becomes of its values together.

Rules:
    - The row that a run is folded to can be folded again with later runs of its key: the result is
      that of folding all of them at once.
    - Nulls are left out, except by ``last_value`` and ``first_value``, and in a group of columns.

Must not know: files, where rows come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.event_order import greatest_by_code, order_numbers
from arctic.columns.integers.integer_index import IntArray
from arctic.errors import InvalidInputError
from arctic.table.merge_engine import FoldRules, Function, SequenceGroup

_DELIMITER = ","
_LOW_HALF = np.int64(2**32 - 1)
_SURELY_WHOLE = 2.0**62
"""A product whose rounded value is below fits into 64 bits."""
_SAFE_DIGITS = 28
"""Of the numbers whose sum fits into 128 bits, however many rows there are: nothing else checks."""


def fold_rows(
    rows: pa.Table,
    field_ids: Sequence[int],
    starts: IntArray,
    rules: FoldRules,
    *,
    key: Sequence[str],
) -> pa.Table:
    """Return one row for each run.

    Args:
        rows: sorted by key, in the order of events within a key; at least one.
        field_ids: of the columns; every column that another one goes by is there.
        starts: the first row of each run, ascending from 0.
        rules: what becomes of a column; the key's are the same in all rows of a run.
        key: names of its columns.

    Raises:
        InvalidInputError: a whole or decimal sum or product that its column cannot hold, with its
            key.

    Memory: a few numbers for each row, and the result.
    """
    if len(starts) == rows.num_rows:
        return rows
    runs = _Runs(starts, rows.num_rows)
    columns = dict(zip(field_ids, rows.columns, strict=True))
    winners = {
        number: _winners(group, columns, runs)
        for group in rules.groups
        for number in (*group.order_ids, *group.column_ids)
        if number in columns
    }
    folded = []
    for field, (number, column) in zip(rows.schema, columns.items(), strict=True):
        if number in winners:
            folded.append(column.take(pa.array(winners[number])))
            continue
        fold = _FOLDS[rules.function_of(number)]
        try:
            folded.append(fold(column, runs))
        except (OverflowError, pa.ArrowInvalid) as error:
            run = _unfit_run(fold, column, starts)
            whose = "a key" if run is None else f"key {_row(rows.select(list(key)), starts[run])}"
            raise InvalidInputError(
                f"column {field.name!r}: the {rules.function_of(number).value} of the rows of "
                f"{whose} does not fit into {field.type}; widen the column"
            ) from error
    return pa.table(folded, schema=rows.schema)


def _unfit_run(fold: _Fold, column: pa.ChunkedArray, starts: IntArray) -> int | None:
    """Return a run that a function cannot fold, of those that it cannot; None: it is their mass."""
    ends = np.append(starts[1:], len(column))

    def fits(first: int, last: int) -> bool:
        begin, count = starts[first], ends[last] - starts[first]
        try:
            fold(column.slice(begin, count), _Runs(starts[first : last + 1] - begin, count))
        except (OverflowError, pa.ArrowInvalid):
            return False
        return True

    first, last = 0, len(starts) - 1
    while first < last:
        middle = (first + last) // 2
        first, last = (middle + 1, last) if fits(first, middle) else (first, middle)
    return None if fits(first, first) else first


def _row(rows: pa.Table, number: int) -> dict[str, Any]:
    values: dict[str, Any] = rows.slice(number, 1).to_pylist()[0]
    return values


class _Runs:
    """Where the rows of each key are."""

    def __init__(self, starts: IntArray, row_count: int) -> None:
        self.starts = starts
        self.lasts = np.append(starts[1:], row_count) - 1
        self.count = len(starts)
        self.codes: IntArray = np.repeat(np.arange(self.count), self.lasts - starts + 1)

    def add_up(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each run."""
        total: np.ndarray = np.add.reduceat(values, self.starts)
        return total


def _winners(group: SequenceGroup, columns: Mapping[int, pa.ChunkedArray], runs: _Runs) -> IntArray:
    """Return for each run the row with the greatest order, the first where no row has one."""
    order = [columns[number].combine_chunks() for number in group.order_ids]
    present = np.zeros(len(runs.codes), bool)
    for column in order:
        present |= _valid(column)
    rows = np.flatnonzero(present)
    found: IntArray = runs.starts.copy()
    codes, places = np.unique(runs.codes[rows], return_inverse=True)
    if len(codes):
        numbers = [each[rows] for each in order_numbers(order)]
        found[codes] = rows[greatest_by_code(numbers, places, len(codes))]
    return found


def _taken(column: pa.ChunkedArray, rows: IntArray) -> pa.ChunkedArray:
    """Return some rows of a column; -1 is a null."""
    return column.take(pa.array(rows, mask=rows < 0))


def _valid(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    valid: np.ndarray = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return valid


def _last(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    return column.take(pa.array(runs.lasts))


def _first(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    return column.take(pa.array(runs.starts))


def _last_known(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    if not column.null_count:
        return _last(column, runs)
    known = np.where(_valid(column), np.arange(len(column)), -1)
    return _taken(column, np.maximum.reduceat(known, runs.starts))


def _first_known(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    if not column.null_count:
        return _first(column, runs)
    known = np.where(_valid(column), np.arange(len(column)), len(column))
    found = np.minimum.reduceat(known, runs.starts)
    return _taken(column, np.where(found == len(column), -1, found))


def _greatest(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    return _extreme(column, runs, "ascending")


def _least(column: pa.ChunkedArray, runs: _Runs) -> pa.ChunkedArray:
    return _extreme(column, runs, "descending")


def _extreme(column: pa.ChunkedArray, runs: _Runs, order: str) -> pa.ChunkedArray:
    rows = np.flatnonzero(_valid(column))
    values = column.take(pa.array(rows))
    if pat.is_floating(column.type):
        # A sort places NaN behind all numbers, whichever way it goes.
        is_nan = pc.is_nan(values)
    else:
        is_nan = pa.repeat(pa.scalar(False), len(rows))
    table = pa.table({"nan": is_nan, "value": values})
    keys = [("nan", order), ("value", order)]
    by_value = rows[pc.sort_indices(table, sort_keys=keys).to_numpy()]
    found = np.full(runs.count, -1)
    found[runs.codes[by_value]] = by_value  # of several, the last assignment stays
    return _taken(column, found)


def _sum(column: pa.ChunkedArray, runs: _Runs) -> pa.Array:
    valid = _valid(column)
    missing = pa.array(runs.add_up(valid.astype(np.int64)) == 0)
    if pat.is_decimal(column.type):
        scale = column.type.scale
        narrow = column.type.precision <= _SAFE_DIGITS
        wide = column.cast(pa.decimal128(38, scale) if narrow else pa.decimal256(76, scale))
        table = pa.table({"run": runs.codes, "value": wide})
        none = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)
        found = table.group_by("run", use_threads=False).aggregate([("value", "sum", none)])
        total: pa.ChunkedArray = found.column("value_sum").cast(column.type)
        return total
    numbers = column.combine_chunks().fill_null(0)
    if pat.is_floating(column.type):
        # As IEEE 754 has it: infinite beyond the greatest number, NaN of both infinities.
        with np.errstate(over="ignore", invalid="ignore"):
            totals = runs.add_up(numbers.to_numpy().astype(np.float64))
        return pc.if_else(missing, None, pa.array(totals)).cast(column.type, safe=False)
    return pc.if_else(missing, None, pa.array(_whole_sum(numbers.to_numpy(), runs))).cast(
        column.type
    )


def _product(column: pa.ChunkedArray, runs: _Runs) -> pa.Array:
    missing = pa.array(runs.add_up(_valid(column).astype(np.int64)) == 0)
    numbers = column.combine_chunks().fill_null(1).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        rough = np.multiply.reduceat(numbers.astype(np.float64), runs.starts)
    if pat.is_floating(column.type):
        return pc.if_else(missing, None, pa.array(rough)).cast(column.type, safe=False)
    wide = numbers.astype(np.int64)
    exact = np.multiply.reduceat(wide, runs.starts)
    # Beyond 64 bits a product wraps around, unless a factor is 0: it is then worked out anew.
    beyond = ~(np.abs(rough) < _SURELY_WHOLE)
    beyond &= ~np.logical_or.reduceat(wide == 0, runs.starts)
    for run in np.flatnonzero(beyond):
        factors = wide[runs.starts[run] : runs.lasts[run] + 1].tolist()
        if not -(2**63) <= math.prod(factors) < 2**63:
            raise OverflowError
    return pc.if_else(missing, None, pa.array(exact)).cast(column.type)


def _whole_sum(numbers: np.ndarray, runs: _Runs) -> np.ndarray:
    """Add up whole numbers by their halves, neither of which can overflow."""
    wide = numbers.astype(np.int64)
    low = runs.add_up(wide & _LOW_HALF)
    high = runs.add_up(wide >> 32) + (low >> 32)
    if (high != high.astype(np.int32)).any():
        raise OverflowError
    total: np.ndarray = (high << 32) | (low & _LOW_HALF)
    return total


def _joined(column: pa.ChunkedArray, runs: _Runs) -> pa.Array:
    texts = column.combine_chunks().cast(pa.string())
    told = _valid(texts)
    ends = np.cumsum(runs.add_up(told.astype(np.int64)))
    offsets = pa.array(np.append(0, ends), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, texts.filter(pa.array(told)))
    joined = pc.binary_join(lists, _DELIMITER)
    empty = pa.array(np.diff(np.append(0, ends)) == 0)
    return pc.if_else(empty, None, joined).cast(column.type)


def _collected(column: pa.ChunkedArray, runs: _Runs) -> pa.Array:
    lists = column.combine_chunks()
    valid = _valid(lists)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    offsets = np.append(0, np.cumsum(runs.add_up(lengths)))
    missing = pa.array(runs.add_up(valid.astype(np.int64)) == 0)
    kind = pa.LargeListArray if pat.is_large_list(lists.type) else pa.ListArray
    width = pa.int64() if pat.is_large_list(lists.type) else pa.int32()
    return kind.from_arrays(
        pa.array(offsets, width), lists.flatten(), type=lists.type, mask=missing
    )


_Fold = Callable[[pa.ChunkedArray, _Runs], pa.ChunkedArray | pa.Array]
_FOLDS: Mapping[Function, _Fold] = {
    Function.LAST_VALUE: _last,
    Function.LAST_NON_NULL_VALUE: _last_known,
    Function.FIRST_VALUE: _first,
    Function.FIRST_NON_NULL_VALUE: _first_known,
    Function.SUM: _sum,
    Function.COUNT: _sum,
    Function.PRODUCT: _product,
    Function.MAX: _greatest,
    Function.MIN: _least,
    Function.BOOL_OR: _greatest,
    Function.BOOL_AND: _least,
    Function.LISTAGG: _joined,
    Function.COLLECT: _collected,
}
