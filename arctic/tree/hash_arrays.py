"""The key hash over whole Arrow columns; ``key_hash`` says what it must compute.

Strategy: the buffer of a column is seen as 32-bit words, without a copy where possible. Strings
and binary are in ``ragged_hash``.

Rules:
    - No Python step for a single row.
    - All sums are of ``uint32``, which wraps around silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.buffers import fixed_values
from arctic.errors import InvalidInputError
from arctic.tree.key_hash import check_key_type, decimal_scale, type_name
from arctic.tree.ragged_hash import Words, hash_bytes, hash_strings

_FLOAT_NAN_BITS = np.uint32(0x7FC00000)
_DOUBLE_NAN_BITS = np.uint64(0x7FF8000000000000)


def hash_arrays(columns: Sequence[Any], types: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the key hash of every row, from 0 to 2**31 - 1, inclusive.

    >>> hash_arrays([pa.array([1, None]), pa.array(["john", "x"])], ["int", "string"]).tolist()
    [3268843, 1081]

    Args:
        columns: the key columns in key order, ``pa.Array`` or ``pa.ChunkedArray``, all of one
            length, possibly with nulls, slices and no rows at all.
        types: Iceberg's type texts, one for each column. A column of a narrower or dictionary
            encoded Arrow type is hashed as the Iceberg type.

    Raises:
        InvalidInputError: no column, a type that cannot be a key, or values that are not of it.
    """
    if not types:
        raise InvalidInputError("a key hash needs at least one key column")
    if len({len(column) for column in columns}) > 1:
        raise InvalidInputError(f"key columns of {[len(c) for c in columns]} rows: expected equal")
    total = np.ones(len(columns[0]), np.uint32)
    for column, type_text in zip(columns, types, strict=True):
        total *= np.uint32(31)
        total += _column_hashes(column, type_text)
    signed = np.abs(total.view(np.int32))
    # The least number has no absolute value in 32 bits; Java takes the greatest instead.
    signed[signed == np.int32(-(2**31))] = 2**31 - 1
    return signed.astype(np.int64)


def _column_hashes(column: Any, type_text: str) -> Words:
    check_key_type(type_text, "(unnamed)")
    if not isinstance(column, pa.ChunkedArray):
        return _array_hashes(column, type_text)
    parts = [_array_hashes(chunk, type_text) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint32)


def _array_hashes(array: Any, type_text: str) -> Words:
    if len(array) == 0:
        return np.zeros(0, np.uint32)
    if array.null_count == len(array):
        return np.zeros(len(array), np.uint32)
    array = _conform(array, type_text)
    hashes = (
        _decimal_hashes(array, decimal_scale(type_text))
        if type_name(type_text) == "decimal"
        else _KERNELS[type_name(type_text)](array)
    )
    if array.null_count == 0:
        return hashes
    valid: npt.NDArray[np.bool_] = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return hashes * valid


def _conform(array: Any, type_text: str) -> Any:
    """Bring an array to the Arrow type that the kernel of its Iceberg type reads."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_readable(array.type, type_text):
        return array
    belongs, target = _FAMILIES[type_name(type_text)]
    try:
        if not belongs(array.type):
            raise pa.ArrowInvalid(f"values of type {array.type}")
        return array.cast(_decimal_type(type_text) if target is None else target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(
            f"key column of type {type_text!r} cannot be hashed from Arrow {array.type}: {error}"
        ) from error


def _is_readable(arrow_type: Any, type_text: str) -> bool:
    name = type_name(type_text)
    if name == "decimal":
        return bool(
            pa.types.is_decimal(arrow_type)
            and arrow_type.bit_width <= 128
            and arrow_type.scale == decimal_scale(type_text)
        )
    if name in ("binary", "fixed"):
        return bool(pa.types.is_fixed_size_binary(arrow_type) or arrow_type in _BINARY_TYPES)
    if name == "string":
        return arrow_type in _STRING_TYPES
    if name in ("timestamp", "timestamptz"):
        return bool(pa.types.is_timestamp(arrow_type) and arrow_type.unit == "us")
    return bool(arrow_type == _FAMILIES[name][1])


def _decimal_type(type_text: str) -> Any:
    return pa.decimal128(38, decimal_scale(type_text))


def _word_hashes(array: Any) -> Words:
    words: Words = fixed_values(array, np.uint32)
    return words


def _folded_hashes(array: Any) -> Words:
    words: Words = fixed_values(array, np.uint32, 2)
    folded: Words = words[:, 0] ^ words[:, 1]
    return folded


def _boolean_hashes(array: Any) -> Words:
    truths: npt.NDArray[np.uint8] = fixed_values(array.cast(pa.uint8()), np.uint8)
    hashes: Words = np.where(truths, np.uint32(1231), np.uint32(1237))
    return hashes


def _float_hashes(array: Any) -> Words:
    values: npt.NDArray[np.float32] = fixed_values(array, np.float32)
    bits: Words = np.where(np.isnan(values), _FLOAT_NAN_BITS, values.view(np.uint32))
    return bits


def _double_hashes(array: Any) -> Words:
    values: npt.NDArray[np.float64] = fixed_values(array, np.float64)
    bits = np.where(np.isnan(values), _DOUBLE_NAN_BITS, values.view(np.uint64))
    folded: Words = (bits ^ (bits >> np.uint64(32))).astype(np.uint32)
    return folded


def _decimal_hashes(array: Any, scale: int) -> Words:
    """Hash the four 32-bit words of the magnitude; leading words of zero add nothing."""
    low, high = _unscaled(array)
    negative = high >= np.uint64(2**63)
    # Two's complement: the magnitude is the inverted bits plus one, with the carry.
    low, high = (
        np.where(negative, ~low + np.uint64(1), low),
        np.where(negative, ~high + (low == 0), high),
    )
    total = np.zeros(len(array), np.uint32)
    for half in (high, low):
        for shift in (np.uint64(32), np.uint64(0)):
            total *= np.uint32(31)
            total += (half >> shift).astype(np.uint32)
    signed: Words = np.where(negative, ~total + np.uint32(1), total)
    signed *= np.uint32(31)
    signed += np.uint32(scale)
    return signed


def _unscaled(array: Any) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the lower and upper 64 bits of the unscaled numbers, in two's complement."""
    if array.type.bit_width == 128:
        halves: npt.NDArray[np.uint64] = fixed_values(array, np.uint64, 2)
        return halves[:, 0], halves[:, 1]
    narrow = np.int32 if array.type.bit_width == 32 else np.int64
    numbers = fixed_values(array, narrow).astype(np.int64)
    return numbers.view(np.uint64), (numbers >> np.int64(63)).view(np.uint64)


_STRING_TYPES = (pa.string(), pa.large_string())
_BINARY_TYPES = (pa.binary(), pa.large_binary())

_KERNELS: dict[str, Callable[[Any], Words]] = {
    "boolean": _boolean_hashes,
    "int": _word_hashes,
    "long": _folded_hashes,
    "float": _float_hashes,
    "double": _double_hashes,
    "date": _word_hashes,
    "time": _folded_hashes,
    "timestamp": _folded_hashes,
    "timestamptz": _folded_hashes,
    "string": hash_strings,
    "binary": hash_bytes,
    "fixed": hash_bytes,
}

_FAMILIES: dict[str, tuple[Callable[[Any], bool], Any]] = {
    "boolean": (pa.types.is_boolean, pa.bool_()),
    "int": (pa.types.is_integer, pa.int32()),
    "long": (pa.types.is_integer, pa.int64()),
    "float": (pa.types.is_floating, pa.float32()),
    "double": (pa.types.is_floating, pa.float64()),
    "date": (pa.types.is_date, pa.date32()),
    "time": (pa.types.is_time, pa.time64("us")),
    "timestamp": (pa.types.is_timestamp, pa.timestamp("us")),
    "timestamptz": (pa.types.is_timestamp, pa.timestamp("us")),
    "string": (lambda arrow_type: "string" in str(arrow_type), pa.string()),
    "binary": (lambda arrow_type: "binary" in str(arrow_type), pa.binary()),
    "fixed": (lambda arrow_type: "binary" in str(arrow_type), pa.binary()),
    "decimal": (pa.types.is_decimal, None),
}
"""What a column may come as, beside the Arrow type that its kernel reads, and how to cast it."""
