"""A plain Python value as the internal form of a column's type, exactly or not at all.

A literal that was rounded, cut or moved to another time zone would keep or drop other rows than
the caller asked for, so such a value is refused.

Must not know: PyIceberg's literals, which round.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any
from uuid import UUID

from arctic.columns.calendar import (
    MICROS_PER_DAY,
    date_text,
    parse_date,
    parse_time,
    parse_timestamp,
    timestamp_text,
)
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.table.files import Value

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone has none
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
_TEMPORAL = frozenset({"date", "time", "timestamp", "timestamptz"})


@dataclass(frozen=True, slots=True)
class Typed:
    """A literal with a type of its own, such as ``DATE '2024-02-29'``."""

    type: str
    """Iceberg's text of it."""
    value: Any
    """In the internal form of that type."""

    def __repr__(self) -> str:
        """Return it as people write it."""
        if self.type == "date":
            return f"date '{date_text(self.value)}'"
        if self.type in ("timestamp", "timestamptz"):
            zone = "+00:00" if self.type == "timestamptz" else ""
            return f"timestamp '{timestamp_text(self.value)}{zone}'"
        return f"{self.type} {self.value!r}"


def internal_literal(value: Any, type_text: str) -> Value:
    """Convert a value for comparison with a column.

    Args:
        value: a bool, int, float, Decimal, str, bytes, date, time, datetime, UUID or ``Typed``.
            Texts are also read as dates and times, whole numbers as the internal form of those.
        type_text: Iceberg's text of the column's type.

    Raises:
        InvalidInputError: null, NaN, or a value that the type cannot hold exactly.
        UnsupportedError: a type without an order, such as a struct.

    >>> internal_literal(date(2024, 2, 29), "date")
    19782
    >>> internal_literal(1, "decimal(10, 2)")
    Decimal('1.00')
    """
    kind, *arguments = re.findall(r"[a-z]+|\d+", type_text)
    convert = _CONVERTERS.get(kind)
    if convert is None or "<" in type_text:
        raise UnsupportedError(f"a filter cannot compare a column of type {type_text}")
    try:
        plain = _from_typed(value, kind, type_text) if isinstance(value, Typed) else value
        return convert(plain, *map(int, arguments))
    except (ValueError, TypeError, ArithmeticError) as error:
        reason = f": {error}" if isinstance(error, ValueError) else ""
        raise InvalidInputError(
            f"literal {value!r} is not exactly a value of type {type_text}{reason}"
        ) from error


def nearest_float(value: Any, type_text: str) -> Any:
    """Return the float or double that is nearest to a decimal number of a query.

    >>> nearest_float(Decimal("0.1"), "double")
    0.1
    """
    if type_text not in ("float", "double") or not isinstance(value, Decimal | float):
        return value
    number = float(value)
    if type_text == "double" or not math.isfinite(number):
        return number
    try:
        return _as_float32(number)
    except OverflowError:
        return number


def _as_float32(number: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("expected a whole number")
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > 40:
        raise ValueError("it is beyond every whole number")
    if value != int(value):
        raise ValueError("it has a fraction")
    return int(value)


def _integer(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        number = _whole(value)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(f"expected {-(2 ** (bits - 1))} to {2 ** (bits - 1) - 1}")
        return number

    return convert


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("expected a number")
    number = float(value)
    if math.isnan(number):
        raise ValueError("NaN compares with nothing")
    if number != value:
        raise ValueError(f"the nearest one is {number!r}")
    return number


def _float(value: Any) -> float:
    number = _double(value)
    if not math.isinf(number) and _as_float32(number) != number:
        raise ValueError(f"the nearest one is {_as_float32(number)!r}")
    return number


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("expected a number")
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("expected a finite number")
    number = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if len(number.as_tuple().digits) > precision:
        raise ValueError(f"expected at most {precision - scale} digits before the point")
    return number


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("expected a text without halves of characters (surrogates)") from None
    return value


def _binary(value: Any, length: int | None = None) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError("expected bytes")
    if length is not None and len(value) != length:
        raise ValueError(f"expected {length} bytes")
    return bytes(value)


def _uuid(value: Any) -> bytes:
    if isinstance(value, str):
        return UUID(value).bytes
    return value.bytes if isinstance(value, UUID) else _binary(value, 16)


def _date(value: Any) -> int:
    if isinstance(value, str):
        return _integer(32)(parse_date(value))
    if isinstance(value, datetime):
        if value.tzinfo is not None or value.time() != time():
            raise ValueError("expected a date without a time")
        value = value.date()
    if isinstance(value, date):
        return value.toordinal() - _EPOCH.toordinal()
    return _integer(32)(value)


def _time(value: Any) -> int:
    if isinstance(value, str):
        return parse_time(value)
    if isinstance(value, time):
        if value.tzinfo is not None:
            raise ValueError("expected a time without a zone")
        return (datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND
    return _integer(64)(value)


def _timestamp(value: Any) -> int:
    if isinstance(value, str):
        micros, has_zone = parse_timestamp(value)
        if has_zone:
            raise ValueError("expected a timestamp without a zone")
        return _integer(64)(micros)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise ValueError("expected a timestamp without a zone")
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return _date(value) * MICROS_PER_DAY
    return _integer(64)(value)


def _timestamptz(value: Any) -> int:
    if isinstance(value, str):
        micros, has_zone = parse_timestamp(value)
        if not has_zone:
            raise ValueError("expected a zone, for example '+00:00'")
        return _integer(64)(micros)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("expected a zone, for example '+00:00'")
        return (value - _EPOCH_UTC) // _MICROSECOND
    if isinstance(value, date):
        raise ValueError("expected a zone, for example '+00:00'")
    return _integer(64)(value)


def _from_typed(value: Typed, kind: str, type_text: str) -> Any:
    """Return a value that ``kind`` converts, of a literal that has a type of its own."""
    if value.type == kind or value.type not in _TEMPORAL:
        return value.value
    if (value.type, kind) == ("date", "timestamp"):
        return value.value * MICROS_PER_DAY
    if (value.type, kind) == ("timestamp", "date"):
        days, rest = divmod(value.value, MICROS_PER_DAY)
        if rest:
            raise ValueError("expected a date without a time")
        return days
    if kind == "timestamptz" and value.type != "time":
        raise ValueError("expected a zone, for example '+00:00'")
    raise ValueError(f"a {value.type} cannot be compared with a {type_text}")


_CONVERTERS: dict[str, Callable[..., Value]] = {
    "boolean": _boolean,
    "int": _integer(32),
    "long": _integer(64),
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    "string": _string,
    "binary": _binary,
    "fixed": _binary,
    "uuid": _uuid,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
}
