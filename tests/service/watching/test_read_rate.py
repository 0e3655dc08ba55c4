"""How often a table is read: counts that grow old."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.service.watching.told_reads import ReadRate

HOUR_MS = 3_600_000
NEW = ReadRate(since_ms=0)


def _told(times: list[int]) -> ReadRate:
    rate = NEW
    for at_ms in times:
        rate = rate.told(at_ms)
    return rate


@pytest.mark.parametrize("now_ms", [0, HOUR_MS, 99 * HOUR_MS])
def test_a_table_of_which_nobody_ever_told_is_read_once_an_hour(now_ms: int) -> None:
    """Whenever it is asked."""
    assert NEW.per_hour(now_ms) == 1.0


@pytest.mark.parametrize("per_day", [2, 24, 600])
def test_a_steady_reader_is_counted_as_often_as_it_reads(per_day: int) -> None:
    """After a day, within a fifth; one that reads twice a day is told from one that does hourly."""
    times = [number * 24 * HOUR_MS // per_day for number in range(3 * per_day)]

    assert _told(times).per_hour(72 * HOUR_MS) == pytest.approx(per_day / 24, rel=0.2, abs=0.05)


def test_a_table_that_nobody_reads_any_more_is_hardly_read() -> None:
    """Less than one of which nobody ever told."""
    assert 0 < _told([0, HOUR_MS]).per_hour(99 * HOUR_MS) < 0.05


@given(st.lists(st.integers(0, 99 * HOUR_MS), min_size=1, max_size=30).map(sorted))
def test_one_more_read_is_never_less_often(times: list[int]) -> None:
    """At its time and later; and a clock that is set back makes no reads of itself."""
    rate, now_ms = _told(times), times[-1]

    assert rate.told(now_ms).per_hour(now_ms) > rate.per_hour(now_ms)
    assert rate.told(now_ms).per_hour(now_ms + HOUR_MS) > rate.per_hour(now_ms + HOUR_MS)
    assert rate.told(0).weight == rate.weight + 1
