"""Arithmetic of dates against Python's and numpy's."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.calendar import (
    date_of,
    date_text,
    days_of,
    parse_date,
    parse_timestamp,
    timestamp_text,
)

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@given(st.integers(-(2**31), 2**31 - 1))
def test_dates_are_numpys_for_every_year(days: int) -> None:
    """Which has no end; and they are read as they are written."""
    year, month, day = date_of(days)

    assert days_of(year, month, day) == days
    assert year - 1970 == np.datetime64(days, "D").astype("M8[Y]").astype(int)
    assert (year - 1970) * 12 + month - 1 == np.datetime64(days, "D").astype("M8[M]").astype(int)
    assert parse_date(date_text(days)) == days


@given(st.dates(), st.integers(0, 86_399_999_999), st.sampled_from([0, 90, -480]))
def test_texts_are_pythons_within_its_years(day: date, micros: int, zone: int) -> None:
    """With a zone and without."""
    moment = datetime(day.year, day.month, day.day) + timedelta(microseconds=micros)  # noqa: DTZ001
    number = (moment.replace(tzinfo=timezone.utc) - EPOCH) // timedelta(microseconds=1)

    assert date_text(day.toordinal() - 719_163) == day.isoformat()
    assert timestamp_text(number) == moment.isoformat()
    assert parse_timestamp(moment.isoformat(" ")) == (number, False)
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=zone))).isoformat()
    assert parse_timestamp(zoned) == (number - zone * 60_000_000, True)


@pytest.mark.parametrize(
    "text",
    ["2024-02-30", "2023-02-29", "2024-13-01", "24-01-01", "2024-1-1", "2024-01-01T25:00", "today",
     "2024-01-01T00:00:00.0000001", "2024-01-01T00:00+99:00", "2024-01-01Z"],
)  # fmt: skip
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Never rounded, never moved to the next day."""
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)
