"""Values of a message as its schema stores them become those that its table or ``decode`` takes.

Rules:
    - What is made of a value is what ``decode`` makes of the text that Connect writes for it in
      JSON. Where that is not certain at once, it is that text, or nothing is made at all.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.cdc.decode import Encoding
from arctic.cdc.unread import ReadColumn
from arctic.columns.buffers import value_bytes, value_offsets

_FACTORS = {
    Encoding.MILLISECONDS: 1000,
    Encoding.MICROSECONDS: 1,
    Encoding.INSTANT_MILLISECONDS: 1000,
    Encoding.INSTANT_MICROSECONDS: 1,
}
_DAYS = (-719_162, 2_932_896)
"""Of the years 1 to 9999."""
_DAY_MICROSECONDS = 86_400_000_000
_DECIMAL_BYTES = 16
_MOST_HIGH = 10**38 // 2**64 - 1
"""What the upper half of a number of 38 digits may be, whatever the lower one is."""


def stored_values(values: pa.Array, column: ReadColumn) -> pa.Array:
    """Return values for an ``Image``.

    Args:
        values: int64, float32, float64, bool, string, binary or null.
        column: where they go.

    Raises:
        pa.ArrowInvalid: only its text tells what a value is.
    """
    target, encoding = column.field.type, column.decoding.encoding
    if pt.is_string(values.type):
        return values
    if pt.is_null(values.type):
        return pa.nulls(len(values), target)
    if pt.is_integer(values.type):
        return _integers(values, column)
    is_plain = encoding is Encoding.TEXT
    if pt.is_boolean(values.type) and pt.is_boolean(target) and is_plain:
        return values
    is_float = pt.is_floating(values.type) and pt.is_floating(target) and is_plain
    if is_float and target.bit_width >= values.type.bit_width:
        return values.cast(target)
    if pt.is_binary(values.type) and encoding is Encoding.BASE64:
        return values.cast(target)
    if pt.is_binary(values.type) and encoding is Encoding.UNSCALED and pt.is_decimal(target):
        return _decimals(values, column)
    raise pa.ArrowInvalid(f"{values.type} as {target} in {encoding.value}")


def _integers(values: pa.Array, column: ReadColumn) -> pa.Array:
    target, encoding = column.field.type, column.decoding.encoding
    if encoding is Encoding.UNSCALED:
        raise pa.ArrowInvalid("a number is no unscaled one")
    if pt.is_integer(target) and encoding is Encoding.TEXT:
        return _exactly(values, target)
    if encoding is Encoding.DAYS and _is_within(values, *_DAYS):
        return values.cast(pa.int32()).cast(target)
    factor = _FACTORS.get(encoding)
    if factor is not None and pt.is_timestamp(target) and target.unit == "us":
        most = _DAY_MICROSECONDS // factor
        if _is_within(values, _DAYS[0] * most, _DAYS[1] * most):
            return pc.multiply(values, factor).cast(target)
    return values.cast(pa.string())


def _exactly(values: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return values.cast(target)
    except pa.ArrowInvalid:
        return values.cast(pa.string())


def _is_within(values: pa.Array, least: int, most: int) -> bool:
    found = pc.min_max(values).as_py()
    return found["min"] is None or (found["min"] >= least and found["max"] <= most)


def _decimals(values: pa.Array, column: ReadColumn) -> pa.Array:
    """Read two's complement, the most significant byte first."""
    if not len(values):
        return pa.nulls(0, column.field.type)
    lengths = pc.binary_length(values).fill_null(1).to_numpy(zero_copy_only=False)
    if lengths.min() < 1 or lengths.max() > _DECIMAL_BYTES:
        raise pa.ArrowInvalid("a decimal of no bytes, or of more than 16")
    # A null has no bytes; those of the value behind it are read, and left out below.
    starts = value_offsets(values)[:-1].astype(np.int64)
    data = np.concatenate([value_bytes(values), np.zeros(_DECIMAL_BYTES, np.uint8)])
    negative = (data[starts] >> 7).astype(np.bool_)
    unscaled = np.where(negative, 255, 0).astype(np.uint8)[:, None].repeat(_DECIMAL_BYTES, axis=1)
    for back in range(int(lengths.max())):
        is_there = lengths > back
        byte = data[np.where(is_there, starts + lengths - 1 - back, 0)]
        unscaled[:, back] = np.where(is_there, byte, unscaled[:, back])
    high = unscaled.view("<i8")[:, 1][values.is_valid().to_numpy(zero_copy_only=False)]
    if len(high) and (high.min() < -_MOST_HIGH or high.max() > _MOST_HIGH):
        raise pa.ArrowInvalid("a decimal of more than 38 digits")
    widest = pa.decimal128(38, column.decoding.scale)
    whole = pa.Array.from_buffers(widest, len(values), [None, pa.py_buffer(unscaled)])
    return pc.if_else(values.is_valid(), whole, pa.scalar(None, widest)).cast(column.field.type)
