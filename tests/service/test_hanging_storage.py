"""A service with tables whose storage hangs: the others are looked at, worked on and kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import arctic
from arctic.iceberg.commits.lease import lease_of, take_lease
from arctic.iceberg.snapshots import heads
from arctic.service import heartbeat
from arctic.service.ending import Ending
from arctic.service.heartbeat import Heartbeat
from arctic.service.table_service import TableService
from arctic.service.watching import watch
from tests.service.hanging import hanging, manifest_list, metadata_file
from tests.service.lake import HOUR_MS, Lake

KEPT = {"table-expire.enabled": "false"}
QUIET = {"self-optimizing.enabled": "false", **KEPT}
MINUTE_MS = 60_000


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """No tables yet; the clock says now, as commits do."""
    made = Lake(tmp_path, now_ms=time.time_ns() // 1_000_000)
    yield made
    made.close()


@contextmanager
def running(service: TableService) -> Iterator[None]:
    """Let a service run for as long as the block."""
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(60)
        assert not thread.is_alive()


def test_tables_whose_storage_hangs_do_not_keep_the_others_from_being_worked_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose metadata never comes, one whose files cannot be listed; both are told of.

    What is seen of them when the storage is back is taken up.
    """
    monkeypatch.setattr(heads, "_STORE_SECONDS", 0.5)
    monkeypatch.setattr(watch, "_TABLE_SECONDS", 0.5)
    names = ("db.good", "db.listed", "db.loaded")
    for name in names:
        lake.make(name, **KEPT)
    files = (
        metadata_file(lake.config, "db.loaded"),
        manifest_list(lake.config, "db.listed_change_"),
    )

    service = lake.service()
    with running(service):
        with hanging(*files):
            service.nudge()
            lake.wait_for("optimized")
            assert lake.tables("optimized") == ["db.good"]
            with lake.spoke:
                is_told = lake.spoke.wait_for(
                    lambda: {"db.listed", "db.loaded"} <= set(lake.tables("failed")), timeout=60
                )
            assert is_told
            assert "no answer within" in service.watch.told["db.listed"]
        end = time.monotonic() + 60
        while lake.tables("optimized") != list(names):
            assert time.monotonic() < end, lake.said
            service.nudge()
            time.sleep(0.1)
    for name in names:
        assert arctic.status(name, warehouse=lake.warehouse).due is None


def test_a_table_is_looked_at_and_worked_on_while_a_look_at_all_of_them_hangs(lake: Lake) -> None:
    """It was written to, and the service is told of both; a look goes on for a minute."""
    for name in ("db.good", "db.hangs"):
        lake.make(name, self_optimizing__min_plan_interval="0", **KEPT)
    service = lake.service()
    with running(service):
        with lake.spoke:
            assert lake.spoke.wait_for(lambda: len(lake.tables("optimized")) == 2, timeout=60)
        lake.upsert("db.hangs")
        with hanging(manifest_list(lake.config, "db.hangs_change_")):
            service.nudge()
            for times in (2, 3):
                lake.upsert("db.good")
                service.nudge("db.hangs")
                service.nudge("db.good")
                assert _optimized(lake, "db.good", times), lake.said
                assert service._at_all.under_way


def _optimized(lake: Lake, name: str, times: int) -> bool:
    with lake.spoke:
        return lake.spoke.wait_for(
            lambda: lake.tables("optimized").count(name) == times, timeout=30
        )


def test_a_publication_that_hangs_keeps_no_other_table_from_being_published(lake: Lake) -> None:
    """For longer than ten minutes."""
    for name in ("db.a", "db.b"):
        lake.make(name, **QUIET)
    service = lake.service()
    with running(service), hanging(manifest_list(lake.config, "db.a_change_")):
        for name in ("db.a", "db.b"):
            shown = {"self-publishing.enabled": "true"}
            arctic.set_properties(name, shown, warehouse=lake.warehouse)
        service.nudge("db.a")
        end = time.monotonic() + 60
        while service.busy_tables() != ["db.a"]:
            assert time.monotonic() < end
            time.sleep(0.01)
        service.nudge("db.b")
        assert lake.tables("published") == []

        lake.now_ms += 11 * MINUTE_MS
        service.nudge("db.b")

        lake.wait_for("published")
        assert lake.tables("published") == ["db.b"]


def test_a_lease_is_extended_though_the_storage_of_another_table_hangs(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would expire otherwise, while its table is worked on."""
    monkeypatch.setattr(heartbeat, "_BEATS_A_LEASE", HOUR_MS)
    monkeypatch.setattr(heartbeat, "_TABLE_SECONDS", 0.2)
    for name in ("db.a", "db.good"):
        lake.make(name, **QUIET)
    service = lake.service()
    for name in ("db.a", "db.good"):
        take_lease(lake.config, name, service.work._lease(), now_ms=lake.now_ms)
    lake.now_ms += HOUR_MS // 2
    with (
        hanging(metadata_file(lake.config, "db.a")),
        Heartbeat(service.work, lambda: ["db.a", "db.good"], list, Ending()).beating(),
    ):
        end = time.monotonic() + 60
        while True:
            opened = arctic.open_table("db.good", warehouse=lake.warehouse)
            found = lease_of(opened.properties)
            if found is not None and found.until_ms == lake.now_ms + HOUR_MS:
                break
            assert time.monotonic() < end
    service.stop()
    assert "db.a" in lake.tables("failed")
