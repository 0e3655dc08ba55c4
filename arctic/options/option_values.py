"""The texts of options as values; what is no value says what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TypeVar

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


_MOST = 2**63 - 1
"""What other systems keep such numbers in."""


def byte_count(text: str) -> int:
    """Read a number of bytes, with a unit or without."""
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None or int(match.group(1)) == 0:
        raise ValueError("expected bytes above 0, for example 134217728 or '128 MiB'")
    return _bounded(int(match.group(1)) * _UNITS[match.group(2)])


def positive_int(text: str) -> int:
    """Read a whole number above 0."""
    if not re.fullmatch(r"\s*\d+\s*", text) or int(text) == 0:
        raise ValueError("expected a whole number above 0")
    return _bounded(int(text))


def milliseconds_or_off(text: str) -> int | None:
    """Read milliseconds; None for -1."""
    if not re.fullmatch(r"\s*(-1|\d+)\s*", text):
        raise ValueError("expected milliseconds, or -1 for never")
    return None if int(text) < 0 else _bounded(int(text))


def count(text: str) -> int:
    """Read a whole number from 0 on."""
    if not re.fullmatch(r"\s*\d+\s*", text):
        raise ValueError("expected a whole number, 0 or more")
    return _bounded(int(text))


def batch_number(text: str) -> int:
    """Read the number of a batch."""
    if not re.fullmatch(r"\s*\d+\s*", text) or int(text) > _MOST:
        raise ValueError("expected a whole number from 0 to 2**63 - 1")
    return int(text)


def moment_ms(text: str) -> int:
    """Read a moment: milliseconds since 1970-01-01 UTC, or a time with a zone."""
    if re.fullmatch(r"\s*-?\d+\s*", text):
        number = int(text)
        if abs(number) >= 2**63:
            raise ValueError("it is beyond every time")
        return number
    # Python 3.10 reads neither a Z nor a fraction of other than three or six digits.
    padded = re.sub(r"\.(\d{1,6})\d*", lambda match: f".{match.group(1):0<6}", text.strip())
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", padded))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            "expected milliseconds since 1970-01-01 UTC, or a time with a zone such as "
            "'2024-02-29T12:00:00Z'"
        )
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_DURATIONS_MS = {
    **dict.fromkeys(("", "ms", "milli", "millisecond"), 1),
    **dict.fromkeys(("s", "sec", "second"), 1_000),
    **dict.fromkeys(("m", "min", "minute"), 60_000),
    **dict.fromkeys(("h", "hour"), 3_600_000),
    **dict.fromkeys(("d", "day"), 86_400_000),
}


def duration_ms(text: str) -> int:
    """Read a duration, with a unit or in milliseconds."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if match is not None:
        count, unit = int(match.group(1)), match.group(2)
        for name in (unit, unit.removesuffix("s")):
            if name in _DURATIONS_MS:
                return _bounded(count * _DURATIONS_MS[name])
    raise ValueError("expected milliseconds or a duration such as '720min', '12h', '1d'")


def integer(text: str) -> int:
    """Read a whole number."""
    try:
        number = int(text)
    except ValueError:
        raise ValueError("expected a whole number") from None
    return _bounded(number)


def _bounded(number: int) -> int:
    if abs(number) > _MOST:
        raise ValueError("it is beyond every number; expected at most 2**63 - 1")
    return number


def ratio(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError("expected a number above 0")
    return number


def group_name(text: str) -> str:
    """Read the name of a group."""
    if not re.fullmatch(r"\s*[\w.-]+\s*", text):
        raise ValueError("expected letters, digits, '_', '-' or '.', such as 'default'")
    return text.strip()


def truth(text: str) -> bool:
    """Read true or false."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.strip().lower() == "true"


def one_of(*choices: str, hint: str = "") -> Callable[[str], str]:
    """Return what reads one of some words; the hint says where else it may be said."""

    def parse(text: str) -> str:
        if text.strip().lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}{hint and f'; {hint}'}")
        return text.strip().lower()

    return parse


def column_words(text: str) -> tuple[tuple[str, str], ...]:
    """Read a word for each of some columns.

    >>> column_words("total: sum, seen: max")
    (('total', 'sum'), ('seen', 'max'))
    """
    found = []
    for part in text.split(","):
        name, colon, word = (each.strip() for each in part.partition(":"))
        if not name or not colon or not word:
            raise ValueError("expected 'column: word, column: word, ...'")
        found.append((name, word.lower()))
    if len(dict(found)) < len(found):
        raise ValueError("a column is named twice")
    return tuple(found)


def column_groups(text: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Read groups of columns, each behind those that order it.

    >>> column_groups("at: city, zip; day, hour: total")
    ((('at',), ('city', 'zip')), (('day', 'hour'), ('total',)))
    """
    found = []
    for part in text.split(";"):
        order, colon, columns = part.partition(":")
        if not colon:
            raise ValueError("expected 'ordering column: column, column; ...'")
        found.append((column_names(order), column_names(columns)))
    every = [name for group in found for side in group for name in side]
    if len(set(every)) < len(every):
        raise ValueError("a column is named twice")
    return tuple(found)


def column_names(text: str) -> tuple[str, ...]:
    """Read names, at least one."""
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise ValueError("expected names separated by commas")
    return names


def key_names(text: str) -> tuple[str, ...]:
    """Read names; none where the text is blank."""
    return column_names(text) if text.strip() else ()


def partition_fields(text: str) -> tuple[str, ...]:
    """Read partition fields, whose brackets may hold commas."""
    parts = tuple(part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip())
    if not parts:
        raise ValueError("expected partition fields such as 'day(ts), bucket(16, id)'")
    return parts


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """Return what reads a value of an option whose default is None."""
    return parse
