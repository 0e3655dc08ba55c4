"""Partitions as the text that keys the optimized sequence: ``dt=2024-05-06/region=eu+west``.

Rules:
    - Reading back what was written gives the same partition, for every partition that is accepted.
    - Null is the bare word ``null``; a string that spells it is written ``%6Eull``, which readers
      take for null only before they decode.
    - Fields that no reader maps back to the same value are refused: a partition that is not found
      again looks unmerged, and its rows double.

Source: Iceberg PartitionSpec.partitionToPath @1.7.2, amoro MixedDataFiles.data @96a4d781a. Differs:
a string is never mistaken for null; Amoro still reads ``__HIVE_DEFAULT_PARTITION__`` as null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from arctic.columns.calendar import (
    LAST_DAY,
    MICROS_PER_DAY,
    date_text,
    parse_date,
    parse_timestamp,
    timestamp_text,
)
from arctic.errors import FormatError, UnsupportedError
from arctic.table.files import Partition, Value
from arctic.table.table_description import PartitionField, TableDescription

_NULL = "null"
_QUOTED_NULL = "%6Eull"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    name: str
    to_text: Callable[[Any], str]
    to_value: Callable[[str], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKeys:
    """Translates the partitions of one table to texts, both ways."""

    table_name: str
    fields: tuple[_Field, ...]

    def text(self, partition: Partition) -> str:
        """Return the text of a partition; ``""`` without partition fields."""
        return "/".join(
            f"{quote_plus(field.name)}={_value_text(field, value)}"
            for field, value in zip(self.fields, partition, strict=True)
        )

    def partition(self, text: str) -> Partition:
        """Return the partition that a text names.

        Raises:
            FormatError: a text of other fields, or with a value of another type.
        """
        if not self.fields:
            return ()  # any key is the single partition
        parts = text.split("/")
        try:
            if len(parts) != len(self.fields):
                raise ValueError(f"expected {len(self.fields)} parts")
            return tuple(
                _parsed(field, part) for field, part in zip(self.fields, parts, strict=True)
            )
        except (ValueError, ArithmeticError) as error:
            raise FormatError(
                f"table {self.table_name!r}: optimized sequence of partition {text!r}: {error}"
            ) from error


def partition_keys(table: TableDescription) -> PartitionKeys:
    """Return the translation for a table.

    Raises:
        UnsupportedError: a partition field whose text has no certain meaning.
    """
    return PartitionKeys(
        table_name=table.name,
        fields=tuple(_field(table, field) for field in table.partition_fields),
    )


def _field(table: TableDescription, field: PartitionField) -> _Field:
    types = {column.field_id: column.type for column in table.columns}
    source_type = types.get(field.source_id, "an unknown type")
    kind = _result_kind(field.transform, source_type)
    if kind not in _KINDS:
        raise UnsupportedError(
            f"table {table.name!r}: partition field {field.name!r} ({field.transform} of "
            f"{source_type}) has no text that reads back as the same value"
        )
    to_text, to_value = _KINDS[kind]
    return _Field(name=field.name, to_text=to_text, to_value=to_value)


def _result_kind(transform: str, source_type: str) -> str:
    name = transform.split("[")[0]
    if name in ("identity", "truncate"):
        return re.sub(r"\(.*", "", source_type)
    return {"bucket": "int", "day": "date", "month": "month", "hour": "hour"}.get(name, transform)


def _value_text(field: _Field, value: Value) -> str:
    if value is None:
        return _NULL
    text = quote_plus(field.to_text(value))
    return _QUOTED_NULL if text == _NULL else text


def _parsed(field: _Field, part: str) -> Value:
    name, equals, text = part.partition("=")
    if not equals or field.name not in (name, unquote_plus(name)):
        raise ValueError(f"part {part!r} is not of the partition field {field.name!r}")
    return None if text == _NULL else field.to_value(unquote_plus(text))


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is not true or false")
    return text.lower() == "true"


def _date_text(days: int) -> str:
    # Java reads a long year only with its sign.
    text = date_text(days)
    return f"+{text}" if days > LAST_DAY else text


def _month_text(months: int) -> str:
    return f"{1970 + months // 12:04d}-{months % 12 + 1:02d}"


def _month(text: str) -> int:
    # A sign takes the place of a digit: Java's "%04d" writes the year -1 as -001.
    match = re.fullmatch(r"(-\d{3,}|\d{4,})-(\d\d)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a month")
    return (int(match.group(1)) - 1970) * 12 + int(match.group(2)) - 1


def _hour_text(hours: int) -> str:
    return f"{_date_text(hours // 24)}-{hours % 24:02d}"


def _hour(text: str) -> int:
    day, _, hour = text.rpartition("-")
    return parse_date(day) * 24 + int(hour)


def _timestamp_text(micros: int) -> str:
    days, rest = divmod(micros, MICROS_PER_DAY)
    return _date_text(days) + timestamp_text(rest)[len("1970-01-01") :]


def _timestamptz_text(micros: int) -> str:
    return f"{_timestamp_text(micros)}+00:00"


def _timestamp(text: str) -> int:
    return _moment(text, has_zone=False)


def _timestamptz(text: str) -> int:
    return _moment(text, has_zone=True)


def _moment(text: str, *, has_zone: bool) -> int:
    micros, found_zone = parse_timestamp(text)
    if found_zone is not has_zone:
        raise ValueError(f"{text!r} has {'no' if has_zone else 'a'} zone")
    return micros


_KINDS: dict[str, tuple[Callable[[Any], str], Callable[[str], Value]]] = {
    "int": (str, int),
    "long": (str, int),
    "string": (str, str),
    "boolean": (lambda value: str(value).lower(), _boolean),
    "decimal": (lambda value: format(value, "f"), Decimal),
    "date": (_date_text, parse_date),
    "month": (_month_text, _month),
    "hour": (_hour_text, _hour),
    "timestamp": (_timestamp_text, _timestamp),
    "timestamptz": (_timestamptz_text, _timestamptz),
}
