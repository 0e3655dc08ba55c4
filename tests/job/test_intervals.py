"""Runs that time makes due, by a clock that the test sets."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from tests.iceberg import stores
from tests.job.upkeep.test_optimize_job import full, optimize, write

MINUTE = 60_000


def _now_ns(now_ms: int) -> int:
    return now_ms * 1_000_000


@pytest.mark.parametrize(("key", "kind"), [((), "minor"), ((), "full"), (("id", "region"), "full")])
def test_an_interval_is_over_for_each_partition_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...], kind: str
) -> None:
    """However often a hot partition is optimized, a quiet one has its turn, then not again."""
    other = {"minor": "full", "full": "minor"}[kind]
    settings = {
        "self-optimizing.minor.trigger.file-count": "4" if key else "3",
        f"self-optimizing.{kind}.trigger.interval": str(60 * MINUTE),
        f"self-optimizing.{other}.trigger.interval": "-1",
    }
    stores.make(
        tmp_path, key=key, base__file_index__hash_bucket="1", change__file_index__hash_bucket="1"
    )
    now_ms = time.time_ns() // 1_000_000
    mode = "upsert" if key else "append"
    done = []
    # Inserts come with deletes, and each change is due in time; fragments are from the second on.
    hot, quiet = (2, 1) if key else (3, 2)
    for turn in range(1, 5):
        monkeypatch.setattr(time, "time_ns", partial(_now_ns, now_ms + 40 * turn * MINUTE))
        for number in range(hot):
            write(tmp_path, [full(number, "hot")], mode)
        report = optimize(tmp_path, None, options=settings)
        done.append({each.partition: each.type.value for each in report.partitions})
        for number in {1: range(quiet), 2: [quiet]}.get(turn, []):
            write(tmp_path, [full(number, "quiet")], mode)

    assert all("region=hot" in turn for turn in done)
    # At once, because the table is older than the interval; then 80 minutes after that.
    assert [turn.get("region=quiet") for turn in done] == [None, kind, None, kind]
