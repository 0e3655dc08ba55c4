"""Partition values of whole Arrow columns, and their texts in paths.

Rules:
    - Values are Iceberg's internal ones, and exact for every year; PyIceberg's code for dates and
      times ends with the year 9999, and Arrow's is silent after 262142.
    - The texts are PyIceberg's, carried on beyond the year 9999 and before the year 1.

Must not know: partition specs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyiceberg.transforms import Transform, parse_transform
from pyiceberg.types import IcebergType, NestedField

from arctic.columns.calendar import (
    FIRST_DAY,
    LAST_DAY,
    MICROS_PER_DAY,
    MICROS_PER_HOUR,
    date_text,
    timestamp_text,
)
from arctic.errors import InvalidInputError

_INTERNAL = {
    pa.date32(): pa.int32(),
    pa.time64("us"): pa.int64(),
    pa.timestamp("us"): pa.int64(),
    pa.timestamp("us", tz="UTC"): pa.int64(),
}
_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_PER_DAY = {"date": 1, "timestamp": MICROS_PER_DAY, "timestamptz": MICROS_PER_DAY}


def partition_values(
    transform: str, column_type: str, column: pa.Array | pa.ChunkedArray, *, name: str
) -> pa.Array:
    """Return the value of each row.

    Args:
        transform: Iceberg's text of it.
        column_type: Iceberg's text of the column's type.
        column: of the table's Arrow type.
        name: of the column, for messages.

    Raises:
        InvalidInputError: a date or time beyond the years 1 to 9999 in a field that has a value for
            each day or hour: PyIceberg writes it into the summary of the commit, and cannot.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column_type in _PER_DAY and transform in ("identity", "day", "hour"):
        _refuse_far(transform, column, column_type, name)
    if transform in _TIMES:
        return _times(transform, column)
    parsed, kind = _parsed(transform, column_type)
    values = column if transform == "identity" else parsed.pyarrow_transform(kind)(column)
    internal = _INTERNAL.get(values.type)
    return values if internal is None else values.view(internal)


def partition_path_text(transform: str, column_type: str, value: Any) -> str:
    """Return a value as it stands in paths."""
    if value is not None:
        if transform == "hour":
            return f"{date_text(value // 24)}-{value % 24:02d}"
        if transform == "day" or (transform, column_type) == ("identity", "date"):
            return date_text(value)
        if transform == "identity" and column_type in ("timestamp", "timestamptz"):
            return timestamp_text(value) + ("+00:00" if column_type == "timestamptz" else "")
    parsed, kind = _parsed(transform, column_type)
    return parsed.to_human_string(parsed.result_type(kind), value)


def _refuse_far(transform: str, column: pa.Array, column_type: str, name: str) -> None:
    per_day = _PER_DAY[column_type]
    numbers = _numbers(column)
    first, end = FIRST_DAY * per_day, (LAST_DAY + 1) * per_day
    if not len(numbers) or (numbers.min() >= first and numbers.max() < end):
        return
    row = int(np.flatnonzero((numbers < first) | (numbers >= end))[0])
    value = int(numbers[row])
    text = date_text(value) if per_day == 1 else timestamp_text(value)
    field = "it" if transform == "identity" else transform
    raise InvalidInputError(
        f"column {name!r} is {text} in row {row} of a batch: in a table that is partitioned by "
        f"{field}, expected a year from 1 to 9999"
    )


def _times(transform: str, column: pa.Array) -> pa.Array:
    nulls = np.asarray(pc.is_null(column).to_numpy(zero_copy_only=False), dtype=bool)
    numbers = _numbers(column)
    if transform == "hour":
        values = numbers // MICROS_PER_HOUR
    else:
        days = numbers if pt.is_date32(column.type) else numbers // MICROS_PER_DAY
        values = days.view("M8[D]").astype(f"M8[{_TIMES[transform]}]").view(np.int64)
    return pa.array(values.astype(np.int32), pa.int32(), mask=nulls)


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return days or microseconds, 0 for nulls."""
    plain = pc.fill_null(column.view(_INTERNAL[column.type]), 0)
    return np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.int64)


@lru_cache(maxsize=256)
def _parsed(transform: str, column_type: str) -> tuple[Transform[Any, Any], IcebergType]:
    holder = NestedField(field_id=1, name="x", field_type=column_type)
    return parse_transform(transform), holder.field_type
