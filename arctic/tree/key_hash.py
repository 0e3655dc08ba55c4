"""The hash of a primary key, which decides the tree node of a row; and which types can be hashed.

Rules:
    - ``hash_key`` is the truth: one row in plain Python, to be read beside the format. Function
      ``hash_arrays.hash_arrays`` does the same for Arrow columns; tests hold them equal.
    - All arithmetic wraps around at 32 bits, as in Java.
    - The result has 31 bits; a node holds the keys with ``hash & mask == index``.

Source: amoro PrimaryKeyData @96a4d781a with java.util.Arrays.hashCode and the hashCode of
Iceberg's Java classes. Differs: a key type whose hash depends on the engine is refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from arctic.errors import InvalidInputError

HASHABLE = (
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "string",
    "binary",
    "fixed",
)
"""Iceberg type names, without the parameters of ``decimal(p, s)`` and ``fixed[n]``.

A uuid is left out because engines disagree on what they hash; a struct, list or map because
their hash differs from run to run.
"""

_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")


def check_key_type(type_text: str, column_name: str) -> None:
    """Refuse a column type that cannot be part of a primary key.

    Raises:
        InvalidInputError: naming the column, its type and the types that can.
    """
    if type_name(type_text) not in HASHABLE:
        raise InvalidInputError(
            f"key column {column_name!r}: type {type_text!r} cannot be part of a primary key; "
            f"expected one of {', '.join(HASHABLE)}"
        )


def type_name(type_text: str) -> str:
    """Return the type without its parameters.

    >>> type_name("decimal(10, 2)"), type_name("fixed[4]"), type_name("list<int>")
    ('decimal', 'fixed', 'list')
    """
    return re.split(r"[(\[<]", type_text, maxsplit=1)[0].strip()


def decimal_scale(type_text: str) -> int:
    """Return the scale of a decimal type, which is part of its hash.

    >>> decimal_scale("decimal(10, 2)")
    2
    """
    match = _DECIMAL.fullmatch(type_text.strip())
    if match is None:
        raise InvalidInputError(f"type {type_text!r}: expected decimal(precision, scale)")
    return int(match.group(1))


_FLOAT_NAN_BITS = 0x7FC00000
_DOUBLE_NAN_BITS = 0x7FF8000000000000


def hash_key(values: Sequence[object], types: Sequence[str]) -> int:
    """Return the hash of one row's key, from 0 to 2**31 - 1, inclusive.

    >>> hash_key([1, "john"], ["int", "string"])
    3268843

    Args:
        values: in key order and Iceberg's internal form: dates int days, times and timestamps
            int microseconds, decimals ``Decimal``, binary and fixed ``bytes``; None is allowed.
        types: Iceberg's type texts, one for each value.

    Raises:
        InvalidInputError: no key column, or a type that cannot be a key.
    """
    if not types:
        raise InvalidInputError("a key hash needs at least one key column")
    total = 1
    for value, type_text in zip(values, types, strict=True):
        total = _int32(31 * total + element_hash(value, type_text))
    # Math.abs leaves the least number as it is; Java then replaces it by the greatest.
    return 2**31 - 1 if total == -(2**31) else abs(total)


def element_hash(value: object, type_text: str) -> int:
    """Return the signed 32-bit hash of one key column's value; a null hashes to 0.

    >>> element_hash("abc", "string")
    96354
    """
    check_key_type(type_text, "(unnamed)")
    if value is None:
        return 0
    if type_name(type_text) == "decimal":
        return _decimal_hash(value, decimal_scale(type_text))
    return _HASHES[type_name(type_text)](value)


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _fold(bits: int) -> int:
    unsigned = bits % 2**64
    return _int32(unsigned ^ (unsigned >> 32))


def _boolean_hash(value: Any) -> int:
    return 1231 if value else 1237


def _float_hash(value: Any) -> int:
    if value != value:
        return _FLOAT_NAN_BITS
    return int(struct.unpack(">i", struct.pack(">f", value))[0])


def _double_hash(value: Any) -> int:
    if value != value:
        return _fold(_DOUBLE_NAN_BITS)
    return _fold(struct.unpack(">q", struct.pack(">d", value))[0])


def _string_hash(value: Any) -> int:
    total = 0
    for (unit,) in struct.iter_unpack("<H", value.encode("utf-16-le", "surrogatepass")):
        total = _int32(31 * total + unit)
    return total


def _bytes_hash(value: Any) -> int:
    total = 1
    for (signed_byte,) in struct.iter_unpack("b", bytes(reversed(value))):
        total = _int32(31 * total + signed_byte)
    return total


def _decimal_hash(value: Any, scale: int) -> int:
    unscaled = _unscaled(value, scale)
    magnitude = 0
    for shift in (96, 64, 32, 0):
        # A leading word of zero adds nothing, as if it were not there.
        magnitude = _int32(31 * magnitude + (abs(unscaled) >> shift) % 2**32)
    return _int32(31 * (-magnitude if unscaled < 0 else magnitude) + scale)


def _unscaled(value: Decimal, scale: int) -> int:
    # Not by Decimal arithmetic, which would round to the 28 digits of the context.
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent < -scale:
        raise InvalidInputError(f"decimal key {value!r}: expected at most {scale} decimal places")
    number = int("".join(map(str, digits))) * int(10 ** (exponent + scale))
    return -number if sign else number


_HASHES: dict[str, Callable[[Any], int]] = {
    "boolean": _boolean_hash,
    "int": _int32,
    "long": _fold,
    "float": _float_hash,
    "double": _double_hash,
    "date": _int32,
    "time": _fold,
    "timestamp": _fold,
    "timestamptz": _fold,
    "string": _string_hash,
    "binary": _bytes_hash,
    "fixed": _bytes_hash,
}
