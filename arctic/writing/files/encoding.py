"""How the columns of a file are encoded: by a dictionary where their values repeat enough.

A codec is left out where it saves next to nothing, as of keys and measures that are random: it
takes most of the time of reading them all the same.

Strategy: Parquet writers try a dictionary on every column, and give up when it has grown too
large: of ids, times and measures it then costs as much time as writing them and is left in the
file. So a sample says beforehand how many different values a column has, by Chao's estimate from
those that were seen once and twice. What a codec saves it shows on runs of neighbours: it goes by
what is alike close by.

Rules:
    - Rows never depend on it: a wrong estimate costs time or bytes.
    - The same rows are always encoded alike.

Must not know: files, keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.buffers import fixed_values

_SAMPLE_ROWS = 2_048
"""Four times as many gave the same answers, and took three times as long for each file."""
_FEW_BYTES = 16_384
"""A row group of so little is written plainly: to choose takes longer than to write it."""
_WORTHWHILE = 0.6
"""A dictionary with its indices is to be at most this share of the values. Measured: near 1 both
take the same bytes, and the dictionary more time."""
_RUNS, _RUN_ROWS = 4, 256
"""Neighbouring rows that a codec is tried on, from all over a row group."""
_LEAST_SAVED = 0.05
"""The share of a column's bytes that a codec is to save. Measured: of a million random 64-bit keys
in order zstd saves 3 %, and they decode in 13 ns each; without it in 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """What pyarrow's writer is told."""

    dictionary: tuple[str, ...]
    """Paths of the Parquet columns that get a dictionary."""
    delta: tuple[str, ...]
    """Paths of those that are written as differences; none of the above."""
    compressed: tuple[str, ...] | None
    """Paths of those that the codec is for; None: all columns."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A Parquet column of a sample."""

    path: str
    values: pa.Array


def choose_encoding(
    rows: pa.Table, *, dictionary_bytes: int, allow_delta: bool, codec: pa.Codec | None
) -> Encoding:
    """Choose the encoding of each column.

    Args:
        rows: the first row group, at least one row.
        dictionary_bytes: a larger dictionary is given up by the writer.
        allow_delta: whether integers and times without a dictionary are written as differences.
        codec: what compresses columns; None: nothing does.
    """
    if rows.nbytes <= _FEW_BYTES:
        return Encoding(dictionary=(), delta=(), compressed=None)
    step = max(1, rows.num_rows // _SAMPLE_ROWS)
    sample = rows.take(pa.array(np.arange(0, rows.num_rows, step))) if step > 1 else rows
    scale = rows.num_rows / sample.num_rows
    dictionary, delta = [], []
    for leaf in _leaves(sample):
        if _repeats(leaf.values, scale=scale, dictionary_bytes=dictionary_bytes):
            dictionary.append(leaf.path)
        elif allow_delta and _is_counted(leaf.values.type):
            delta.append(leaf.path)
    compressed = None if codec is None else _compressed(rows, {*dictionary, *delta}, codec)
    return Encoding(dictionary=tuple(dictionary), delta=tuple(delta), compressed=compressed)


def _compressed(rows: pa.Table, encoded: Set[str], codec: pa.Codec) -> tuple[str, ...] | None:
    """Return the columns that a codec is for, where it is not for all of them."""
    few = rows
    if rows.num_rows > _RUNS * _RUN_ROWS:
        starts = np.linspace(0, rows.num_rows - _RUN_ROWS, _RUNS, dtype=np.int64).tolist()
        few = pa.concat_tables(rows.slice(start, _RUN_ROWS) for start in starts)
    leaves = list(_leaves(few))
    found = [leaf.path for leaf in leaves if leaf.path in encoded or _shrinks(leaf.values, codec)]
    return None if len(found) == len(leaves) else tuple(found)


def _shrinks(values: pa.Array, codec: pa.Codec) -> bool:
    """Say whether a codec makes values notably smaller; it is believed to, where none can tell."""
    kind = values.type
    if pt.is_boolean(kind) or not (pt.is_primitive(kind) or pt.is_fixed_size_binary(kind)):
        return True
    present = values.drop_null() if values.null_count else values
    width = kind.bit_width // 8
    if not len(present) or not width:
        return True
    plain = fixed_values(present, np.uint8, width)
    return bool(codec.compress(plain).size <= (1 - _LEAST_SAVED) * plain.nbytes)


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
