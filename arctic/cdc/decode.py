"""A value that an event carries as text -> a typed value, exactly or not at all.

Strategy: for each column one SQL expression, which is null where the text is not exactly a value of
the target. Casts alone will not do: they round decimals, cut nanoseconds and take infinity for the
greatest time there is. So the form of the text is checked first.

Must not know: tables, envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa
import pyarrow.types as pt

from arctic.errors import InvalidInputError


class Encoding(Enum):
    """The form in which an event writes a value."""

    TEXT = "text"
    """As PostgreSQL prints them, or JSON: numbers in decimal, times in ISO form."""
    HEX = "hex"
    """Bytes as hexadecimal digits."""
    BASE64 = "base64"
    """Bytes in Base64."""
    UNSCALED = "unscaled"
    """A decimal as the Base64 of its unscaled two's complement, of a known scale; a number of JSON
    is that number."""
    DAYS = "days"
    """Days since 1970-01-01."""
    MILLISECONDS = "milliseconds"
    """Milliseconds since 1970-01-01; microseconds and nanoseconds likewise."""
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    INSTANT_MILLISECONDS = "instant in milliseconds"
    """The same of a moment in UTC, for a timestamp with a time zone; likewise."""
    INSTANT_MICROSECONDS = "instant in microseconds"
    INSTANT_NANOSECONDS = "instant in nanoseconds"
    TIME_MILLISECONDS = "time in milliseconds"
    """Milliseconds since midnight; microseconds and nanoseconds likewise."""
    TIME_MICROSECONDS = "time in microseconds"
    TIME_NANOSECONDS = "time in nanoseconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How the values of one column are read: their form, and what it needs."""

    encoding: Encoding = Encoding.TEXT
    scale: int = 0
    """Digits after the decimal point, for ``UNSCALED``; no other encoding uses it."""


PLAIN = Decoding()


Sql = str
_INTEGER = r"[+-]?[0-9]+"
_DATE = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


def decode(value: Sql, target: pa.DataType, decoding: Decoding, *, column: str) -> Sql:
    """Return the expression that is the typed value of a text; null where there is none.

    Args:
        value: an expression of type text.
        target: the table's type.
        decoding: how the event writes it.
        column: for messages.

    Raises:
        InvalidInputError: an encoding that cannot become this type, whatever the value.
    """
    rule = _rule(target, decoding)
    if rule is None:
        raise InvalidInputError(
            f"column {column!r} is {target}, which cannot be read from {decoding.encoding.value}"
        )
    return rule(value, target, decoding)


def can_decode(target: pa.DataType, decoding: Decoding) -> bool:
    """Say whether there are values of an encoding that become this type."""
    return _rule(target, decoding) is not None


def _rule(target: pa.DataType, decoding: Decoding) -> _Rule | None:
    for matches, rules in _TARGETS:
        if matches(target) and decoding.encoding in rules:
            return rules[decoding.encoding]
    return None


def _checked(value: Sql, pattern: str, result: Sql) -> Sql:
    return f"CASE WHEN regexp_full_match({value}, '{pattern}') THEN {result} END"


def _integer(value: Sql, target: pa.DataType, _: Decoding) -> Sql:
    kind = "INTEGER" if target == pa.int32() else "BIGINT"
    return _checked(value, _INTEGER, f"TRY_CAST({value} AS {kind})")


def _boolean(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    yes, no = f"{value} IN ('true', 't')", f"{value} IN ('false', 'f')"
    return f"CASE WHEN {yes} THEN true WHEN {no} THEN false END"


def _float(value: Sql, target: pa.DataType, _: Decoding) -> Sql:
    kind = "FLOAT" if target == pa.float32() else "DOUBLE"
    cast = f"TRY_CAST({value} AS {kind})"
    return (
        f"CASE WHEN isfinite({cast}) OR regexp_full_match({value}, '[+-]?(NaN|Infinity)') "
        f"THEN {cast} END"
    )


def _decimal(value: Sql, target: pa.DataType, _: Decoding) -> Sql:
    has_power = f"contains(lower({value}), 'e')"
    plain = f"CASE WHEN {has_power} THEN {_without_power(value)} ELSE {value} END"
    return _plain_decimal(plain, target)


def _plain_decimal(value: Sql, target: pa.DataType) -> Sql:
    pattern = rf"[+-]?[0-9]+(\.[0-9]{{0,{target.scale}}}0*)?"
    return _checked(value, pattern, f"TRY_CAST({value} AS {_decimal_sql(target)})")


def _without_power(value: Sql) -> Sql:
    """Move the decimal point by the power of ten; null for a power of more than two digits."""
    pattern = r"'([+-]?)([0-9]+)\.?([0-9]*)[eE]([+-]?[0-9]{1,2})'"
    sign, whole, rest, power = (f"regexp_extract(v, {pattern}, {n})" for n in range(1, 5))
    # Zeros on both sides, so that the point stays among the digits.
    digits = f"(repeat('0', 100) || {whole} || {rest} || repeat('0', 100))"
    point = f"(100 + length({whole}) + ({power})::INTEGER)"
    moved = f"{sign} || left({digits}, {point}) || '.' || substr({digits}, {point} + 1)"
    moved = f"CASE WHEN regexp_full_match(v, {pattern}) THEN {moved} END"
    # A lambda, so that the value is not repeated.
    return f"list_transform([{value}], lambda v: {moved})[1]"


def _decimal_sql(target: pa.DataType) -> Sql:
    return f"DECIMAL({target.precision}, {target.scale})"


def _unscaled(value: Sql, target: pa.DataType, decoding: Decoding) -> Sql:
    """Put the decimal point into the digits of a 128-bit number, then read them as text."""
    digits = f"hex(TRY(from_base64({value})))"
    negative = f"{digits} >= '8'"
    padded = f"lpad({digits}, 32, CASE WHEN {negative} THEN 'F' ELSE '0' END)"
    half = [
        f"TRY_CAST('0x' || {part} AS UBIGINT)::HUGEINT"
        for part in (f"left({padded}, 16)", f"right({padded}, 16)")
    ]
    two_64 = "18446744073709551616::HUGEINT"
    # Beyond 38 digits, as a number of more than 16 bytes would be, nothing fits anyway.
    signed = f"({half[0]} - CASE WHEN {negative} THEN {two_64} ELSE 0 END)"
    whole = (
        f"CASE WHEN length({digits}) BETWEEN 2 AND 32 THEN TRY({signed} * {two_64} + {half[1]}) END"
    )
    number = f"({whole})::VARCHAR"
    sign = f"CASE WHEN {number} LIKE '-%' THEN '-' ELSE '' END"
    digits = f"ltrim({number}, '-')"
    width = f"greatest(length({digits}), {decoding.scale + 1})::INTEGER"
    plain = f"lpad({digits}, {width}, '0')"
    if decoding.scale:
        plain = f"(left({plain}, -{decoding.scale}) || '.' || right({plain}, {decoding.scale}))"
    return _plain_decimal(f"({sign} || {plain})", target)


def _date(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    return _checked(value, _DATE, f"TRY_CAST({value} AS DATE)")


def _days(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    return _checked(value, _INTEGER, f"TRY(DATE '1970-01-01' + TRY_CAST({value} AS INTEGER))")


def _timestamp(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    return _checked(value, f"{_DATE}[ T]{_CLOCK}", f"TRY_CAST({value} AS TIMESTAMP)")


def _instant(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    return _checked(value, f"{_DATE}[ T]{_CLOCK}{_ZONE}", f"TRY_CAST({value} AS TIMESTAMPTZ)")


def _microseconds(value: Sql, decoding: Decoding) -> Sql:
    number = f"TRY_CAST({value} AS BIGINT)"
    encoding = decoding.encoding
    if encoding in _OF_MILLISECONDS:
        number = f"TRY({number} * 1000)"
    if encoding in _OF_NANOSECONDS:
        number = f"CASE WHEN {number} % 1000 = 0 THEN {number} // 1000 END"
    return _checked(value, _INTEGER, number)


def _epoch(value: Sql, _: pa.DataType, decoding: Decoding) -> Sql:
    return f"TRY(make_timestamp({_microseconds(value, decoding)}))"


def _epoch_instant(value: Sql, _: pa.DataType, decoding: Decoding) -> Sql:
    return f"TRY(make_timestamptz({_microseconds(value, decoding)}))"


def _time_text(value: Sql, _: pa.DataType, decoding: Decoding) -> Sql:
    number = _microseconds(value, decoding)
    # As PostgreSQL prints it, where a day may end at 24:00:00.
    part = "lpad(({0})::VARCHAR, {1}, '0')"
    clock = " || ':' || ".join(
        part.format(each, 2)
        for each in (
            f"({number}) // 3600000000",
            f"({number}) // 60000000 % 60",
            f"({number}) // 1000000 % 60",
        )
    )
    rest = f"({number}) % 1000000"
    fraction = f"CASE WHEN {rest} = 0 THEN '' ELSE '.' || rtrim({part.format(rest, 6)}, '0') END"
    return f"CASE WHEN ({number}) BETWEEN 0 AND 86400000000 THEN {clock} || {fraction} END"


def _bytes(value: Sql, target: pa.DataType, decoding: Decoding) -> Sql:
    blob = f"TRY(from_base64({value}))"
    if decoding.encoding is Encoding.HEX:
        blob = _checked(value, "([0-9a-fA-F]{2})*", f"unhex({value})")
    if pt.is_fixed_size_binary(target):
        return f"CASE WHEN octet_length({blob}) = {target.byte_width} THEN {blob} END"
    return blob


def _as_it_is(value: Sql, _: pa.DataType, __: Decoding) -> Sql:
    return value


_Rule = Callable[[Sql, pa.DataType, Decoding], Sql]
_TIMES = (
    Encoding.TIME_MILLISECONDS,
    Encoding.TIME_MICROSECONDS,
    Encoding.TIME_NANOSECONDS,
)
_EPOCHS = (Encoding.MILLISECONDS, Encoding.MICROSECONDS, Encoding.NANOSECONDS)
_INSTANTS = (
    Encoding.INSTANT_MILLISECONDS,
    Encoding.INSTANT_MICROSECONDS,
    Encoding.INSTANT_NANOSECONDS,
)
_OF_MILLISECONDS = (_EPOCHS[0], _INSTANTS[0], _TIMES[0])
_OF_NANOSECONDS = (_EPOCHS[2], _INSTANTS[2], _TIMES[2])
_BYTES: Mapping[Encoding, _Rule] = {Encoding.HEX: _bytes, Encoding.BASE64: _bytes}
_TARGETS: tuple[tuple[Callable[[pa.DataType], bool], Mapping[Encoding, _Rule]], ...] = (
    (pt.is_string, {Encoding.TEXT: _as_it_is, **dict.fromkeys(_TIMES, _time_text)}),
    (pt.is_boolean, {Encoding.TEXT: _boolean}),
    (pt.is_integer, {Encoding.TEXT: _integer}),
    (pt.is_floating, {Encoding.TEXT: _float}),
    (pt.is_decimal, {Encoding.TEXT: _decimal, Encoding.UNSCALED: _unscaled}),
    (pt.is_date, {Encoding.TEXT: _date, Encoding.DAYS: _days}),
    (
        lambda target: pt.is_timestamp(target) and target.tz is None,
        {Encoding.TEXT: _timestamp, **dict.fromkeys(_EPOCHS, _epoch)},
    ),
    (pt.is_timestamp, {Encoding.TEXT: _instant, **dict.fromkeys(_INSTANTS, _epoch_instant)}),
    (pt.is_binary, _BYTES),
    (pt.is_fixed_size_binary, _BYTES),
)
