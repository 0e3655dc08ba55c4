"""Which fields may be null at any depth, and which rows are null where they may not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.field_ids import child_fields, with_child_fields
from arctic.columns.integers.distinct import distinct


def nullable_throughout(field: pa.Field) -> pa.Field:
    """Return a field that may be null, and so may everything in it but the keys of maps.

    >>> nullable_throughout(pa.field("s", pa.struct([pa.field("x", pa.int32(), False)]), False))
    pyarrow.Field<s: struct<x: int32>>
    """
    return field.with_type(_nullable_type(field.type)).with_nullable(True)


def null_offenders(array: pa.Array, field: pa.Field) -> np.ndarray:
    """Return the rows, ascending, in which a required field is null, at any depth.

    A required part of an optional struct, list or map is only asked for where that is not null.
    """
    rows = np.arange(len(array), dtype=np.int64)
    return distinct(np.concatenate(_offenders(array, field, rows)))


def has_required_part(field: pa.Field) -> bool:
    """Say whether some row could be refused for a null in this field."""
    return not field.nullable or any(has_required_part(child) for child in child_fields(field.type))


def slice_values(offsets: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the offsets from 0 on, and the values of a slice: it keeps those of the whole."""
    numbers = offsets.to_numpy()
    start, end = int(numbers[0]), int(numbers[-1])
    return pa.array(numbers - start, pa.int32()), values.slice(start, end - start)


def _nullable_type(data_type: pa.DataType) -> pa.DataType:
    children = child_fields(data_type)
    if not children:
        return data_type
    # The key of a map is never null.
    kept = children[:1] if pt.is_map(data_type) else ()
    loose = [nullable_throughout(child) for child in children[len(kept) :]]
    return with_child_fields(data_type, [*kept, *loose])


def _offenders(array: pa.Array, field: pa.Field, rows: np.ndarray) -> list[np.ndarray]:
    nulls = _nulls(array)
    found = [rows[nulls]] if not field.nullable else [rows[:0]]
    if not any(has_required_part(child) for child in child_fields(field.type)):
        return found
    if pt.is_struct(field.type):
        present = array.filter(pa.array(~nulls))
        for index, child in enumerate(field.type):
            found += _offenders(present.field(index), child, rows[~nulls])
        return found
    present = array.filter(pa.array(~nulls))
    lengths = np.diff(present.offsets.to_numpy())
    owners = np.repeat(rows[~nulls], lengths)
    parts = (present.keys, present.items) if pt.is_map(field.type) else (present.values,)
    for part, child in zip(parts, child_fields(field.type), strict=True):
        found += _offenders(slice_values(present.offsets, part)[1], child, owners)
    return found


def _nulls(array: pa.Array) -> np.ndarray:
    return np.asarray(pc.is_null(array).to_numpy(zero_copy_only=False), dtype=bool)
