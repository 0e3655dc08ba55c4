"""Literals of a filter's text: what SQL writes with a type, as values of that type.

Must not know: columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from arctic.columns.calendar import parse_timestamp
from arctic.iceberg.values.literals import Typed, internal_literal

TYPE_WORDS = frozenset(
    {
        "date", "time", "timestamp", "timestamptz", "timestamp_ntz", "timestamp_ltz", "uuid",
        "float", "double", "real", "decimal",
    }
)  # fmt: skip
"""Types that may stand before a text, as in ``DATE '2024-02-29'``."""

_FLOATS = frozenset({"float", "real", "float4", "double", "double precision", "float8"})
_WHOLE = {
    "tinyint": 8, "byte": 8, "smallint": 16, "short": 16, "int2": 16, "int": 32, "integer": 32,
    "int4": 32, "bigint": 64, "long": 64, "int8": 64,
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_NAMED_FLOATS = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}


def cast_literal(value: Any, type_text: str) -> Any:
    """Return a literal as another type, exactly.

    Args:
        value: what another literal gave: a text, a number, a truth value, or ``Typed``.
        type_text: such as ``date`` or ``decimal(10,2)``, in lower case, single spaces.

    Raises:
        ValueError: no such type, or no such value of it.
    """
    name, _, arguments = type_text.partition("(")
    name = name.strip()
    plain = value.value if isinstance(value, Typed) else value
    if name in _WHOLE:
        bits = _WHOLE[name]
        number = internal_literal(_number(plain), "long")
        if not isinstance(number, int) or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(f"{plain!r} is not a value of {type_text}")
        return number
    if name in _FLOATS:
        number = _number(plain)
        return number if isinstance(number, float) else float(number)
    if name in ("decimal", "numeric", "dec"):
        digits = re.findall(r"\d+", arguments) or ["10"]
        precision, scale = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
        return internal_literal(_number(plain), f"decimal({precision}, {scale})")
    convert = _CONVERTERS.get(name)
    if convert is None:
        raise ValueError(
            f"type {type_text!r} is not known; expected date, timestamp, time, a number, boolean, "
            "string, uuid or binary"
        )
    return convert(value)


def number_of(text: str) -> int | Decimal:
    """Return a number as it is written: one with a point or an exponent is a decimal."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else Decimal(text)


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError(f"{value!r} is no number")
    if not isinstance(value, str):
        return value
    text = value.strip()
    named = _NAMED_FLOATS.get(text.lstrip("+-").lower())
    if named is not None and len(text) - len(text.lstrip("+-")) < 2:
        return -named if text.startswith("-") else named
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{value!r} is no number")
    return number_of(text)


def _temporal(kind: str) -> Callable[[Any], Typed]:
    def convert(value: Any) -> Typed:
        if isinstance(value, int | float | Decimal):
            raise ValueError(f"{value!r} is no {kind}; expected a text")
        return Typed(kind, internal_literal(value, kind))

    return convert


def _timestamp(value: Any) -> Typed:
    """Take a text with a zone for a timestamp with one: nobody means its digits without it."""
    if isinstance(value, str):
        micros, has_zone = parse_timestamp(value)
        kind = "timestamptz" if has_zone else "timestamp"
        return Typed(kind, internal_literal(micros, kind))
    if isinstance(value, Typed) and value.type == "timestamptz":
        return value
    return _temporal("timestamp")(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    raise ValueError(f"{value!r} has more than one text; write the text")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError(f"{value!r} is not true or false")


def _uuid(value: Any) -> UUID:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no uuid")
    return UUID(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise ValueError(f"{value!r} is no text")


_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "date": _temporal("date"),
    "time": _temporal("time"),
    "timestamp": _timestamp,
    "timestamp_ntz": _temporal("timestamp"),
    "timestamp without time zone": _temporal("timestamp"),
    "timestamptz": _temporal("timestamptz"),
    "timestamp_ltz": _temporal("timestamptz"),
    "timestamp with time zone": _temporal("timestamptz"),
    "boolean": _boolean,
    "bool": _boolean,
    "string": _text,
    "varchar": _text,
    "char": _text,
    "text": _text,
    "uuid": _uuid,
    "binary": _bytes,
    "varbinary": _bytes,
    "bytea": _bytes,
    "blob": _bytes,
}
