"""Dates and times as numbers and as texts, for any year: Python's own end with 9999.

Rules:
    - The Gregorian calendar holds for all years, as in ISO 8601; the year before 1 is 0.
    - Years of more than four digits are read with a sign or without one.

Must not know: columns, types.
"""

from __future__ import annotations

import re

MICROS_PER_SECOND = 1_000_000
MICROS_PER_HOUR = 3600 * MICROS_PER_SECOND
MICROS_PER_DAY = 24 * MICROS_PER_HOUR
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: the dates that every reader knows."""

_DAYS_PER_ERA = 146_097
_EPOCH_FROM_MARCH = 719_468
"""Days from 0000-03-01 to 1970-01-01; a year that begins in March ends with its leap day."""
_DATE = r"(?P<year>[+-]?\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?"
_ZONE = r"(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?)"
_DATE_TEXT = re.compile(_DATE)
_CLOCK_TEXT = re.compile(_CLOCK)
_TIMESTAMP_TEXT = re.compile(rf"{_DATE}(?:[T ]{_CLOCK}(?:\s?{_ZONE})?)?", re.IGNORECASE)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date.

    >>> days_of(1970, 1, 1), days_of(10_000, 1, 1)
    (0, 2932897)
    """
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_ERA + day_of_era - _EPOCH_FROM_MARCH


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day.

    >>> date_of(2_932_897)
    (10000, 1, 1)
    """
    era, day_of_era = divmod(days + _EPOCH_FROM_MARCH, _DAYS_PER_ERA)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    month = (from_march + 2) % 12 + 1
    year = era * 400 + year_of_era + (month <= 2)
    return year, month, day_of_year - (153 * from_march + 2) // 5 + 1


def date_text(days: int) -> str:
    """Return a date as ISO 8601 writes it, as Iceberg does without a sign before long years.

    >>> date_text(19_782), date_text(2_932_897)
    ('2024-02-29', '10000-01-01')
    """
    year, month, day = date_of(days)
    digits = 4 if year >= 0 else 5
    return f"{year:0{digits}d}-{month:02d}-{day:02d}"


def timestamp_text(micros: int) -> str:
    """Return a moment as a date and a time of the day, without a zone.

    >>> timestamp_text(1), timestamp_text(-1_000_000)
    ('1970-01-01T00:00:00.000001', '1969-12-31T23:59:59')
    """
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{date_text(days)}T{clock}" + (f".{fraction:06d}" if fraction else "")


def parse_date(text: str) -> int:
    """Return the days of a text such as ``2024-02-29``.

    Raises:
        ValueError: it is no date.
    """
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a date such as '2024-02-29'")
    return _days(match)


def parse_time(text: str) -> int:
    """Return the microseconds of a text such as ``23:59:59.5`` since midnight.

    Raises:
        ValueError: it is no time of the day without a zone.
    """
    match = _CLOCK_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a time without a zone, such as '23:59:59'")
    return _clock(match)


def parse_timestamp(text: str) -> tuple[int, bool]:
    """Return the microseconds of a text such as ``2024-02-29 12:00:00+01:00``.

    Returns:
        Microseconds since 1970-01-01, in UTC where the text has a zone; and whether it has one.

    Raises:
        ValueError: it is no date or timestamp.
    """
    match = _TIMESTAMP_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a timestamp such as '2024-02-29T12:00:00', or with '+00:00'")
    micros = _days(match) * MICROS_PER_DAY + (_clock(match) if match["hour"] else 0)
    zone = match["zone"]
    if zone is None:
        return micros, False
    if zone.upper() in ("Z", "UTC"):
        return micros, True
    digits = zone[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 18 or int(digits[2:]) > 59:
        raise ValueError(f"{zone!r} is no zone")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    shift = minutes * 60 * MICROS_PER_SECOND
    return (micros - shift if zone[0] == "+" else micros + shift), True


def _days(match: re.Match[str]) -> int:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12:
        raise ValueError("month must be in 1..12")
    if not 1 <= day <= _MONTH_DAYS[month - 1] + (leap and month == 2):
        raise ValueError("day is out of range for month")
    return days_of(year, month, day)


def _clock(match: re.Match[str]) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("expected a time from 00:00:00 to 23:59:59")
    fraction = (match["fraction"] or "").ljust(9, "0")
    if fraction[6:] != "000":
        raise ValueError("it is finer than microseconds")
    seconds = (hour * 60 + minute) * 60 + second
    return seconds * MICROS_PER_SECOND + int(fraction[:6])
