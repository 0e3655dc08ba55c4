"""The buffers of Arrow arrays as NumPy arrays, without a copy: the one place that knows the layout.

Rules:
    - Rows of a slice begin ``array.offset`` rows into the buffers, which are those of the whole.
    - What stands under a null is any value; nobody may rely on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat


def fixed_values(array: pa.Array, dtype: type[np.generic], width: int = 1) -> npt.NDArray[Any]:
    """Return the values of a fixed-width array.

    Args:
        array: ``width`` items of ``dtype`` for each row.
        dtype: what the buffer is seen as.
        width: if above 1, the result has a second axis of this length.
    """
    row_bytes = width * np.dtype(dtype).itemsize
    values = np.frombuffer(
        array.buffers()[1], dtype, count=len(array) * width, offset=array.offset * row_bytes
    )
    return values if width == 1 else values.reshape(-1, width)


def value_offsets(array: pa.Array) -> npt.NDArray[Any]:
    """Return where each value begins, and behind them where the last one ends, in ``value_bytes``.

    Args:
        array: string, binary, their large forms or fixed-size binary.

    Returns:
        Bytes, as int32 or int64, whichever the array has.
    """
    if pat.is_fixed_size_binary(array.type):
        rows = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64)
        ends: npt.NDArray[Any] = rows * np.int64(array.type.byte_width)
        return ends
    wide = pat.is_large_string(array.type) or pat.is_large_binary(array.type)
    dtype = np.dtype(np.int64 if wide else np.int32)
    if not len(array):
        return np.zeros(1, dtype)  # The buffer of an empty array may be empty, or none.
    return np.frombuffer(
        array.buffers()[1], dtype, count=len(array) + 1, offset=array.offset * dtype.itemsize
    )


def value_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes that ``value_offsets`` counts; empty where no value has any."""
    data = array.buffers()[1 if pat.is_fixed_size_binary(array.type) else 2]
    return np.frombuffer(data or b"", np.uint8)


def with_children(array: pa.Array, kind: pa.DataType, children: pa.Array) -> pa.Array:
    """Return the lists or maps of an array over other children; offsets and nulls are shared.

    Args:
        array: of lists or of maps.
        kind: of the result.
        children: as many as the array's own, in their order.
    """
    return pa.Array.from_buffers(
        kind,
        len(array),
        array.buffers()[:2],
        null_count=array.null_count,
        offset=array.offset,
        children=[children],
    )
