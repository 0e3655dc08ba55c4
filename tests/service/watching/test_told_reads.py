"""How often a table is read, by what readers told."""

from __future__ import annotations

import pytest

from arctic.scan.read_summary import ReadSummary
from arctic.service.watching.told_reads import ToldRead, ToldReads

HOUR_MS = 3_600_000
READ = ReadSummary(row_filter=None, considered_files=0, opened=(), left_out=())


def test_a_table_of_which_nobody_tells_is_read_once_an_hour() -> None:
    """Before the first telling, and when the last is long ago."""
    reads = ToldReads()
    assert reads.per_hour("db.t", 0) == 1.0
    reads.tell("db.t", ToldRead(at_ms=0, summary=READ))
    assert reads.per_hour("db.t", 99 * HOUR_MS) == 1.0
    reads.forget("db.t")
    assert reads.last("db.t") is None


@pytest.mark.parametrize("per_hour", [4, 60, 600])
def test_a_steady_reader_is_counted_as_often_as_it_reads(per_hour: int) -> None:
    """After some hours, and of each table by itself."""
    reads = ToldReads()
    for number in range(8 * per_hour):
        at_ms = number * HOUR_MS // per_hour
        reads.tell("db.t", ToldRead(at_ms=at_ms, summary=READ))

    assert reads.per_hour("db.t", 8 * HOUR_MS) == pytest.approx(per_hour, rel=0.15)
    assert reads.per_hour("db.other", 8 * HOUR_MS) == 1.0


def test_a_clock_that_is_set_back_makes_no_reads() -> None:
    """They count as if no time had passed."""
    reads = ToldReads()
    for at_ms in (HOUR_MS, 0):
        reads.tell("db.t", ToldRead(at_ms=at_ms, summary=READ))

    assert reads.per_hour("db.t", 0) == 2.0
