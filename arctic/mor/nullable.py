"""Fields without promises: what holds nulls where the table does not allow them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt


def nullable_throughout(field: pa.Field) -> pa.Field:
    """Return a field that may be null, and so may everything in it but the keys of maps.

    >>> nullable_throughout(pa.field("s", pa.struct([pa.field("x", pa.int32(), False)]), False))
    pyarrow.Field<s: struct<x: int32>>
    """
    return field.with_type(_nullable_type(field.type)).with_nullable(True)


def _nullable_type(data_type: pa.DataType) -> pa.DataType:
    if pt.is_struct(data_type):
        return pa.struct([nullable_throughout(child) for child in data_type])
    if pt.is_map(data_type):
        return pa.map_(data_type.key_field, nullable_throughout(data_type.item_field))
    if pt.is_list(data_type):
        return pa.list_(nullable_throughout(data_type.value_field))
    return data_type
