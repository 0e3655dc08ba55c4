"""What a test of a column says of the values of a partition field that is made of it.

Rules:
    - What comes out is true of every partition that can have a matching row. It is computed on
      Python's own integers, which neither wrap nor end with the year 9999.
    - Files are written with values that wrap around: integers that are truncated to less than the
      least one, and hours beyond 32 bits. A test takes these in.

Source: the transforms of Iceberg's table spec.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from itertools import chain
from typing import Any

from pyiceberg.transforms import Transform
from pyiceberg.types import IcebergType

from arctic.columns.calendar import MICROS_PER_DAY, MICROS_PER_HOUR, date_of
from arctic.table.files import Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate, like_prefix

_LESS, _GREATER = (Op.LT, Op.LE), (Op.GT, Op.GE)
_BITS = {"int": (32,), "long": (32, 64)}
"""Of integers as files can have them: a column may have been an int before it was a long."""
_DIGITS = Context(prec=60)
_LAST_HOUR = (2**63 - 1) // MICROS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionValues:
    """One partition field, and how values of its column become its values."""

    field_id: int
    transform: str
    """Without its number: ``bucket``, ``day``, ..."""
    column_type: str
    width: int
    """Of truncate; 0 for others."""
    of_value: Callable[[Any], Value]
    """From the column's internal form to that of the field, before anything wraps."""

    @classmethod
    def of(
        cls, field_id: int, transform: Transform[Any, Any], column_type: IcebergType
    ) -> PartitionValues:
        """Return the field with its arithmetic."""
        name, _, number = str(transform).rstrip("]").partition("[")
        kind, width = re.sub(r"[(\[].*", "", str(column_type)), int(number or 0)
        convert: Callable[[Any], Value] | None
        if name == "bucket":
            convert = transform.transform(column_type)
        elif name == "truncate":
            convert = _truncation(kind, width)
        else:
            convert = _times(kind).get(name)
        return cls(
            field_id=field_id,
            transform=name,
            column_type=kind,
            width=width,
            of_value=convert or _same,
        )

    def projected(self, test: ColumnTest) -> Predicate:
        """Return what is true of the field wherever the test is true of the column."""
        test = replace(test, field_id=self.field_id)
        if test.op in (Op.IS_NULL, Op.NOT_NULL) or self.transform == "identity":
            return test
        valid = replace(test, op=Op.NOT_NULL, literal=None)
        if test.op in (Op.EQ, Op.IN):
            literals = test.literal if isinstance(test.literal, tuple) else (test.literal,)
            stored = tuple(dict.fromkeys(chain.from_iterable(map(self._stored, literals))))
            return replace(test, op=Op.IN, literal=stored)
        if self.transform == "bucket":
            return valid
        if test.op in _LESS or test.op in _GREATER:
            return self._range(test)
        return self._prefix(test) or valid

    def _range(self, test: ColumnTest) -> Predicate:
        literal: Any = test.literal
        is_less = test.op in _LESS
        if test.op in (Op.LT, Op.GT) and not isinstance(literal, str | bytes):
            literal = _neighbour(literal, -1 if is_less else 1)
        op = Op.LE if is_less else Op.GE
        within = replace(test, op=op, literal=self.of_value(literal))
        wrapped = self._wrapped(test, is_less=is_less)
        return within if wrapped is None else Or((within, wrapped))

    def _wrapped(self, test: ColumnTest, *, is_less: bool) -> ColumnTest | None:
        """Return where values beyond one end are found instead."""
        if self.transform == "hour":
            if is_less:
                return replace(test, op=Op.GE, literal=2**32 - _LAST_HOUR - 1)
            return replace(test, op=Op.LE, literal=_LAST_HOUR - 2**32)
        if self.transform != "truncate" or not is_less:
            return None
        found = tuple(
            least - least % self.width + 2**bits
            for bits in _BITS.get(self.column_type, ())
            if (least := -(2 ** (bits - 1))) % self.width
        )
        return replace(test, op=Op.IN, literal=found) if found else None

    def _prefix(self, test: ColumnTest) -> ColumnTest | None:
        if test.op is Op.LIKE:
            test = replace(test, op=Op.STARTS_WITH, literal=like_prefix(str(test.literal)))
        if self.transform != "truncate" or not isinstance(test.literal, str):
            return None
        prefix = test.literal
        if test.op is Op.STARTS_WITH:
            if len(prefix) < self.width:
                return test
            return replace(test, op=Op.EQ, literal=prefix[: self.width])
        if test.op is Op.NOT_STARTS_WITH and len(prefix) <= self.width:
            return test
        return None

    def _stored(self, literal: Any) -> tuple[Value, ...]:
        """Return the values that files have, which may have wrapped."""
        value: Any = self.of_value(literal)
        if self.transform == "hour":
            return (_fit(value, 32),)
        if self.transform == "truncate" and self.column_type in _BITS:
            widths = [bits for bits in _BITS[self.column_type] if _fit(literal, bits) == literal]
            return tuple(_fit(value, bits) for bits in widths)
        return (value,)


def holds(predicate: Predicate, values: dict[int, Value]) -> bool:
    """Say whether values, by field id, are such that a filter is true of them."""
    if isinstance(predicate, And):
        return all(holds(child, values) for child in predicate.children)
    if isinstance(predicate, Or):
        return any(holds(child, values) for child in predicate.children)
    value = values[predicate.field_id]
    if predicate.op is Op.IS_NULL:
        return value is None
    # NaN is no value that compares.
    if value is None or (value != value and predicate.op is not Op.NOT_NULL):
        return False
    return bool(_TESTS[predicate.op](value, predicate.literal))


_TESTS: dict[Op, Callable[[Any, Any], object]] = {
    Op.NOT_NULL: lambda value, _: True,
    Op.EQ: lambda value, literal: value == literal,
    Op.NE: lambda value, literal: value != literal,
    Op.LT: lambda value, literal: value < literal,
    Op.LE: lambda value, literal: value <= literal,
    Op.GT: lambda value, literal: value > literal,
    Op.GE: lambda value, literal: value >= literal,
    Op.IN: lambda value, literal: value in literal,
    Op.NOT_IN: lambda value, literal: value not in literal,
    Op.STARTS_WITH: lambda value, literal: value.startswith(literal),
    Op.NOT_STARTS_WITH: lambda value, literal: not value.startswith(literal),
    # Only the beginning of a pattern is looked at: rows are tested later.
    Op.LIKE: lambda value, literal: value.startswith(like_prefix(literal)),
    Op.NOT_LIKE: lambda value, _: True,
}


def _same(value: Any) -> Any:
    return value


def _truncation(kind: str, width: int) -> Callable[[Any], Value]:
    if kind in ("string", "binary"):
        return lambda value: value[:width]
    if kind == "decimal":
        return lambda value: _truncated_decimal(value, width)
    return lambda value: value - value % width


def _truncated_decimal(value: Decimal, width: int) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return Decimal(f"{unscaled - unscaled % width}E{exponent}")


def _times(kind: str) -> dict[str, Callable[[Any], Value]]:
    def days(value: int) -> int:
        return value if kind == "date" else value // MICROS_PER_DAY

    def months(value: int) -> int:
        year, month, _ = date_of(days(value))
        return (year - 1970) * 12 + month - 1

    return {
        "day": days,
        "month": months,
        "year": lambda value: date_of(days(value))[0] - 1970,
        "hour": lambda value: value // MICROS_PER_HOUR,
    }


def _neighbour(value: Any, steps: int) -> Any:
    if isinstance(value, Decimal):
        return _DIGITS.add(value, Decimal(f"{steps}E{value.as_tuple().exponent}"))
    return value + steps


def _fit(value: int, bits: int) -> int:
    """Return an integer as that many bits keep it."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half
