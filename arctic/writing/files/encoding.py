"""How the columns of a file are encoded: by a dictionary where their values repeat enough.

Strategy: Parquet writers try a dictionary on every column, and give up when it has grown too
large: of ids, times and measures it then costs as much time as writing them and is left in the
file. So a sample says beforehand how many different values a column has, by Chao's estimate from
those that were seen once and twice.

Rules:
    - Rows never depend on it: a wrong estimate costs time or bytes.
    - The same rows are always encoded alike.

Must not know: files, keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_SAMPLE_ROWS = 2_048
"""Four times as many gave the same answers, and took three times as long for each file."""
_FEW_BYTES = 16_384
"""A row group of so little is written plainly: to choose takes longer than to write it."""
_WORTHWHILE = 0.6
"""A dictionary with its indices is to be at most this share of the values. Measured: near 1 both
take the same bytes, and the dictionary more time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """What pyarrow's writer is told."""

    dictionary: tuple[str, ...]
    """Paths of the Parquet columns that get a dictionary."""
    delta: tuple[str, ...]
    """Paths of those that are written as differences; none of the above."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A Parquet column of a sample."""

    path: str
    values: pa.Array


def choose_encoding(rows: pa.Table, *, dictionary_bytes: int, allow_delta: bool) -> Encoding:
    """Choose the encoding of each column.

    Args:
        rows: the first row group, at least one row.
        dictionary_bytes: a larger dictionary is given up by the writer.
        allow_delta: whether integers and times without a dictionary are written as differences.
    """
    if rows.nbytes <= _FEW_BYTES:
        return Encoding(dictionary=(), delta=())
    step = max(1, rows.num_rows // _SAMPLE_ROWS)
    sample = rows.take(pa.array(np.arange(0, rows.num_rows, step))) if step > 1 else rows
    scale = rows.num_rows / sample.num_rows
    dictionary, delta = [], []
    for leaf in _leaves(sample):
        if _repeats(leaf.values, scale=scale, dictionary_bytes=dictionary_bytes):
            dictionary.append(leaf.path)
        elif allow_delta and _is_counted(leaf.values.type):
            delta.append(leaf.path)
    return Encoding(dictionary=tuple(dictionary), delta=tuple(delta))


def _leaves(rows: pa.Table) -> Iterator[_Leaf]:
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        yield from _leaves_of(name, column.combine_chunks())


def _leaves_of(path: str, array: pa.Array) -> Iterator[_Leaf]:
    """Yield the Parquet columns of a column, named as pyarrow's writer names them."""
    if isinstance(array, pa.ChunkedArray):
        # More bytes than one array can hold; the longest of its parts is sample enough.
        array = max(array.chunks, key=len, default=pa.nulls(0, array.type))
    if pt.is_struct(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            yield from _leaves_of(f"{path}.{field.name}", child)
    elif pt.is_map(array.type):
        yield from _leaves_of(f"{path}.key_value.key", array.keys)
        yield from _leaves_of(f"{path}.key_value.value", array.items)
    elif pt.is_list(array.type) or pt.is_large_list(array.type):
        yield from _leaves_of(f"{path}.list.element", array.flatten())
    else:
        yield _Leaf(path, array)


def _repeats(values: pa.Array, *, scale: float, dictionary_bytes: int) -> bool:
    """Say whether values repeat so much that a dictionary pays."""
    if values.null_count == len(values) or pt.is_boolean(values.type):
        return False
    present = values.drop_null() if values.null_count else values
    distinct, total = _estimate(present, scale), len(present) * scale
    value_bytes = _value_bytes(present)
    if distinct * value_bytes > dictionary_bytes:
        return False
    index_bytes = total * np.ceil(np.log2(max(distinct, 2))) / 8
    return bool(distinct * value_bytes + index_bytes <= _WORTHWHILE * total * value_bytes)


def _estimate(present: pa.Array, scale: float) -> float:
    """Estimate the distinct values of a column that has ``scale`` times as many values."""
    try:
        counts = pc.value_counts(present).field("counts").to_numpy()
    except pa.ArrowNotImplementedError:
        return 1.0  # A type that Arrow cannot compare: as the writer would, try a dictionary.
    distinct = float(len(counts))
    if scale == 1:
        return distinct
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return float(min(distinct + once * (once - 1) / (2 * (twice + 1)), len(present) * scale))


def _value_bytes(present: pa.Array) -> float:
    """Return the mean bytes of a value as Parquet writes it plainly."""
    try:
        return float(max(present.type.bit_width / 8, 1.0))
    except ValueError:  # texts and bytes: their length and four bytes to tell it
        return float(4 + pc.sum(pc.binary_length(present)).as_py() / len(present))


def _is_counted(kind: pa.DataType) -> bool:
    return bool(
        pt.is_int32(kind)
        or pt.is_int64(kind)
        or pt.is_date32(kind)
        or pt.is_time64(kind)
        or pt.is_timestamp(kind)
    )
