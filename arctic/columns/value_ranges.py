"""Which values a column has: each of them while they are few, else ranges that hold all.

Ranges are told apart at the widest gaps, so values that lie in a few places, as those of some days
do, are not taken for everything in between.

Rules:
    - No value is outside of all ranges. Nulls are left out.
    - Of what is no number (texts, decimals) there is one range.

Memory: ``MOST_VALUES`` values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

MOST_VALUES = 1_000
MOST_RANGES = 16
_LEAST_GAP = 1 / 64
"""Of all that lies between the least and the greatest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRanges:
    """Ranges in order, no two of which meet; pickles."""

    lower: pa.Array
    """The least value of each."""
    upper: pa.Array
    """The greatest value of each."""

    @classmethod
    def of(cls, column: pa.Array) -> ValueRanges:
        """Return those of a column.

        >>> ValueRanges.of(pa.array([3, None, 1, 3])).lower.to_pylist()
        [1, 3]

        Args:
            column: of whole numbers, dates, timestamps, decimals or texts.
        """
        values = column.drop_null()
        return _ranges(values, values)

    @property
    def are_values(self) -> bool:
        """Whether each range is one value."""
        return bool(self.lower.equals(self.upper))


def joined(parts: Sequence[ValueRanges]) -> ValueRanges:
    """Return what holds the values of all parts, one at least."""
    return _ranges(
        pa.concat_arrays([part.lower for part in parts]),
        pa.concat_arrays([part.upper for part in parts]),
    )


def whole_numbers(array: pa.Array) -> pa.Array:
    """Return dates as days and timestamps in their unit; what is neither stays as it is."""
    if pat.is_date32(array.type):
        return array.cast(pa.int32())
    return array.cast(pa.int64()) if pat.is_timestamp(array.type) else array


def _ranges(lower: pa.Array, upper: pa.Array) -> ValueRanges:
    if lower.equals(upper):
        values = pc.unique(lower)
        if len(values) <= MOST_VALUES:
            values = values.take(pc.sort_indices(values))
            return ValueRanges(lower=values, upper=values)
    if not pat.is_integer(whole_numbers(lower).type):
        ends = pc.min_max(pa.concat_arrays([lower, upper]))
        return ValueRanges(
            lower=pa.array([ends["min"].as_py()], lower.type),
            upper=pa.array([ends["max"].as_py()], lower.type),
        )
    low, high = (_numbers(each) for each in (lower, upper))
    order = np.argsort(low, kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    # Differences of numbers far from one another have no place in 64 bits.
    gaps = low[1:].astype(np.float64) - high[:-1]
    gaps[low[1:] <= high[:-1]] = 0
    least = max(1.0, (float(high[-1]) - float(low[0])) * _LEAST_GAP)
    widest = np.argsort(-gaps, kind="stable")[: MOST_RANGES - 1]
    cuts = np.sort(widest[gaps[widest] > least])
    return ValueRanges(
        lower=_column(low[np.concatenate(([0], cuts + 1))], lower.type),
        upper=_column(high[np.concatenate((cuts, [len(high) - 1]))], lower.type),
    )


def _numbers(array: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = whole_numbers(array).cast(pa.int64()).to_numpy()
    return found


def _column(numbers: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    plain = pa.int32() if pat.is_date32(kind) else pa.int64()
    return pa.array(numbers).cast(plain).cast(kind)
