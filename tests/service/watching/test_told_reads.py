"""What readers told of tables."""

from __future__ import annotations

from arctic.scan.read_summary import ReadSummary
from arctic.service.watching.told_reads import ToldRead, ToldReads

HOUR_MS = 3_600_000
READ = ReadSummary(row_filter=None, considered_files=0, opened=(), left_out=())


def test_each_table_has_its_own_last_read_and_its_own_rate() -> None:
    """Until it is forgotten."""
    reads = ToldReads(since_ms=0)
    for number in range(1, 25):
        reads.tell("db.t", ToldRead(at_ms=number * HOUR_MS // 4, summary=READ))

    last = reads.last("db.t")
    assert last is not None
    assert last.at_ms == 6 * HOUR_MS
    assert 3 < reads.per_hour("db.t", 6 * HOUR_MS) < 4.5
    assert reads.per_hour("db.other", 6 * HOUR_MS) == 1.0
    assert reads.last("db.other") is None
    reads.forget("db.t")
    assert reads.last("db.t") is None
    assert reads.per_hour("db.t", 6 * HOUR_MS) == 1.0
