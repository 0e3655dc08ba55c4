"""Which event comes before which: rows beside their neighbours, where no value is null.

Rules:
    - The order is that of ``row_order``, which compares rows with one that may lie anywhere, and
      places nulls too; looking at neighbours is a tenth of the price of sorting.
    - Events that compare equal stay in the order they came.
    - A null has no place among the events.

Where rows of many files are compared with one another, whole numbers stand for the values, two for
a decimal; only types of which each value has a place among so many can be that.

Must not know: keys, actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.buffers import fixed_values
from arctic.columns.integers.integer_index import IntArray
from arctic.columns.row_order import ascending
from arctic.errors import InvalidInputError

LEAST_NUMBER = -(2**63)
"""What ``order_numbers`` makes of a null."""
_LOW_BITS = np.int64(2**63 - 1)


def check_order(
    rows: pa.RecordBatch, columns: Sequence[str], *, describe_row: Callable[[int], str]
) -> None:
    """Refuse rows that have no place in the order of events.

    Args:
        rows: a batch with the columns.
        columns: those that order events.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: a null, with the first row that has it.
    """
    for name in columns:
        column = rows.column(name)
        if column.null_count:
            nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
            row = int(np.flatnonzero(nulls)[0])
            raise InvalidInputError(
                f"ordering column {name!r} is null in {describe_row(row)}; expected a value, "
                "because a null has no place among the events"
            )


def event_order(rows: pa.Table, columns: Sequence[str]) -> np.ndarray | None:
    """Return the row numbers in event order; None: the rows are in order as they stand.

    The order is stable. NaN is greater than every number, as in Spark.

    Args:
        rows: a chunk with the columns, without nulls in them.
        columns: most significant first.
    """
    events = rows.select(list(columns))
    # Mostly the rows were sorted before they came, and seeing it costs a tenth of sorting.
    if not (compare_neighbours(events) > 0).any():
        return None
    return np.asarray(ascending(events, columns).to_numpy(), dtype=np.int64)


def rises(rows: pa.Table) -> bool:
    """Say whether each row is above the one before it.

    Args:
        rows: columns without nulls, the most significant first, chunked in any way.
    """
    before: pa.Table | None = None
    # Chunk by chunk: most rows that do not rise show it early, and a chunk stays in the cache.
    for batch in rows.to_batches():
        some = pa.Table.from_batches([batch])
        edge = [] if before is None else [pa.concat_tables([before, some.slice(0, 1)])]
        if not all(_rises(part) for part in (*edge, some)):
            return False
        before = some.slice(some.num_rows - 1) if some.num_rows else before
    return True


def _rises(rows: pa.Table) -> bool:
    if rows.num_columns > 1 or pt.is_floating(rows.schema.types[0]):
        return bool((compare_neighbours(rows) < 0).all())
    values = rows.combine_chunks().column(0)
    below = pc.less(values.slice(0, max(len(values) - 1, 0)), values.slice(1))
    return bool(pc.all(below, min_count=0).as_py())


def compare_neighbours(rows: pa.Table) -> np.ndarray:
    """Compare each row with the next one, column by column: -1 below, 0 equal, 1 above.

    Args:
        rows: columns without nulls, the most significant first.

    Returns:
        int8, one less than the rows.
    """
    result = np.zeros(max(rows.num_rows - 1, 0), dtype=np.int8)
    for column in rows.combine_chunks().columns:
        if not column.num_chunks or not result.size:
            break
        values = column.chunk(0)
        left, right = values.slice(0, len(values) - 1), values.slice(1)
        order = _is_less(right, left).astype(np.int8) - _is_less(left, right).astype(np.int8)
        result = np.where(result == 0, order, result)
    return result


def _is_less(left: pa.Array, right: pa.Array) -> np.ndarray:
    if pt.is_floating(left.type):
        # NaN is greater than every number, as in Spark and in Arrow's sort.
        some, other = left.to_numpy(), right.to_numpy()
        return np.asarray((some < other) | (np.isnan(other) & ~np.isnan(some)))
    return np.asarray(pc.less(left, right).to_numpy(zero_copy_only=False))


def order_numbers(columns: Sequence[pa.Array]) -> tuple[IntArray, ...]:
    """Return columns as columns of numbers in the order of their values; a null is the least.

    NaN is greater than every number, and -0.0 equals 0.0, as in ``event_order``.

    Args:
        columns: whole numbers, dates, times, timestamps, floats or decimals, of one length.
    """
    return tuple(numbers for column in columns for numbers in _numbers(column))


def _numbers(column: pa.Array) -> tuple[IntArray, ...]:
    if pt.is_decimal(column.type):
        return _of_decimals(column.cast(pa.decimal128(38, column.type.scale)))
    if pt.is_floating(column.type):
        return (_of_floats(column.cast(pa.float64())),)
    if pt.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    column = column.cast(pa.int64())
    numbers: IntArray = (column.fill_null(LEAST_NUMBER) if column.null_count else column).to_numpy()
    return (numbers,)


def _of_floats(column: pa.Array) -> IntArray:
    values = column.fill_null(0.0).to_numpy() + 0.0  # of two zeros one
    bits = np.where(np.isnan(values), np.float64("nan"), values).view(np.int64)
    numbers: IntArray = np.where(bits < 0, bits ^ _LOW_BITS, bits)
    numbers[column.is_null().to_numpy(zero_copy_only=False)] = LEAST_NUMBER
    return numbers


def _of_decimals(column: pa.Array) -> tuple[IntArray, IntArray]:
    if not len(column):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    halves = fixed_values(column, np.int64, 2)
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    # Of the lower half the first bit is no sign.
    low = np.where(nulls, LEAST_NUMBER, halves[:, 0] ^ np.int64(LEAST_NUMBER))
    high = np.where(nulls, LEAST_NUMBER, halves[:, 1])
    return high, low


def compare(
    left: Sequence[IntArray], right: Sequence[IntArray]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Compare rows with rows, column by column.

    Args:
        left: at least one column of numbers, the most significant first.
        right: as many, of the same length.

    Returns:
        Where the left row is greater, and where both are equal.
    """
    greater, equal = left[0] > right[0], left[0] == right[0]
    for mine, theirs in zip(left[1:], right[1:], strict=True):
        greater |= equal & (mine > theirs)
        equal &= mine == theirs
    return greater, equal


def greatest_by_code(columns: Sequence[IntArray], codes: IntArray, count: int) -> IntArray:
    """Return the row with the greatest numbers for each code; of equal rows the last one.

    Args:
        columns: at least one column of numbers, the most significant first.
        codes: one for each row, dense from 0.
        count: how many codes there are.
    """
    rows = np.arange(len(codes))
    greatest = np.empty(count, np.int64)
    # Ascending: of several assignments to one place, the last one stays.
    greatest[codes] = rows
    is_outdone = greatest[codes] != rows
    if is_outdone.any():
        # Most codes have one row, which nothing is compared with.
        is_shared = np.zeros(count, bool)
        is_shared[codes[is_outdone]] = True
        shared = np.flatnonzero(is_shared[codes])
        columns = [column[shared] for column in columns]
        if not _ascends(columns):
            shared = shared[np.lexsort(tuple(reversed(columns)))]
            greatest[codes[shared]] = shared
    return greatest


def _ascends(columns: Sequence[IntArray]) -> bool:
    above = np.ones(max(len(columns[0]) - 1, 0), bool)
    for column in reversed(columns):
        above = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & above)
    return bool(above.all())
