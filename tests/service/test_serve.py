"""The verb as Python calls it."""

from __future__ import annotations

import time
from pathlib import Path

import arctic
from arctic.iceberg.commits.lease import lease_of
from tests.service.lake import Lake


def test_a_service_that_looks_rarely_takes_leases_that_count(tmp_path: Path) -> None:
    """None is further ahead than others believe."""
    lake = Lake(tmp_path)
    lake.make("db.t", **{"table-expire.enabled": "false"})
    held: list[bool] = []

    def look_at_lease(event: str, **_: object) -> None:
        if event == "optimized":
            opened = arctic.open_table("db.t", warehouse=lake.warehouse)
            lease = lease_of(opened.properties)
            held.append(lease is not None and lease.holds(time.time_ns() // 1_000_000))

    arctic.serve(once=True, interval_seconds=864_000, say=look_at_lease, warehouse=lake.warehouse)

    assert held == [True]
