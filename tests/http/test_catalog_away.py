"""A service whose catalog does not answer, or is away: it says so, goes on, and is mended by it."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

import arctic
from arctic.iceberg.catalogs.sqlite import sqlite_uri
from arctic.service import ending, table_service
from arctic.service.watching import look_clock
from tests.http.caller import PATIENCE_SECONDS, Answer, Caller, served
from tests.iceberg.catalogs.over_http.rest_server import rest_server
from tests.service.lake import DUE, SCHEMA, Lake

_SOON_SECONDS = 20
"""Less than a REST catalog is waited for."""
QUIET = {"table-expire.enabled": "false", "self-optimizing.enabled": "false"}


def test_a_look_that_is_stuck_is_told_and_keeps_no_table_from_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor the service of another catalog; when the catalog answers, everything is well again."""
    monkeypatch.setattr(look_clock, "STUCK_SECONDS", 0.3)
    monkeypatch.setattr(table_service, "_WAKE_SECONDS", 0.05)
    lake, other = Lake(tmp_path / "told"), Lake(tmp_path / "other")
    other.make("db.t", **QUIET)
    with rest_server(tmp_path) as server:
        monkeypatch.setenv("PYICEBERG_CATALOG__SLOW__URI", server.uri)
        arctic.create_table(
            "db.t", SCHEMA, primary_key="id", properties=DUE | QUIET, catalog="slow"
        )
        arctic.write("db.t", _rows(other.warehouse), mode="upsert", catalog="slow")
        with served(lake, warehouse=None, catalog="slow") as caller, served(other) as beside:
            _wait_for(caller, "/ready", 200)
            lake.forget()  # on a busy machine the first look may have seemed stuck too
            server.is_stuck = lambda _method, path: path.endswith("/namespaces")
            caller.post("/api/v1/look")

            told = _wait_for(caller, "/health", 503)
            assert told.json["status"].startswith("a look at catalog 'slow' has heard nothing for ")
            assert caller.get("/ready").json["status"].startswith("a look at catalog 'slow' has")
            assert _measured(caller) > 0.3
            asked = caller.post("/api/v1/tables/db.t/optimize", {"type": "full"}).json
            assert caller.wait_for_process(asked["id"])["process"]["status"] == "done"
            assert beside.get("/health").json == {"status": "ok"}
            lake.wait_for("stuck")
            assert [event for event, _ in lake.said].count("stuck") == 1

            server.recover()
            _wait_for(caller, "/health", 200)
            assert _measured(caller) < 0.3
            caller.post("/api/v1/look")
            _wait_for(caller, "/ready", 200)
        found = arctic.read("db.t", catalog="slow").read_all().sort_by("id")
    assert found.to_pylist() == other.rows("db.t")


def test_a_service_ends_when_it_is_told_to_whatever_its_catalog_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a look that is stuck, with marks that cannot be taken away."""
    monkeypatch.setattr(ending, "END_SECONDS", 0.5)
    lake = Lake(tmp_path / "told")
    with rest_server(tmp_path) as server:
        arctic.create_table("db.t", SCHEMA, properties=QUIET, catalog=server.properties)
        with served(lake, warehouse=None, catalog=server.properties) as caller:
            _wait_for(caller, "/ready", 200)
            server.is_stuck = lambda _method, _path: True
            asked = len(server.asked)
            caller.post("/api/v1/look")
            while len(server.asked) == asked:
                time.sleep(0.01)
            began = time.monotonic()
        assert time.monotonic() - began < _SOON_SECONDS


def test_a_catalog_that_hangs_keeps_no_other_of_its_service_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the beginning, and in the middle of a look; nor does it keep the service from ending."""
    monkeypatch.setattr(ending, "END_SECONDS", 0.5)
    lake = Lake(tmp_path / "told")
    lake.make("db.t", **QUIET)
    near = {"uri": sqlite_uri(lake.folder / "catalog.db"), "warehouse": lake.warehouse}
    with rest_server(tmp_path) as server:
        server.is_stuck = lambda _method, path: path.endswith("/config")
        catalogs = {"near": near, "far": server.properties}
        with served(lake, warehouse=None, catalogs=catalogs) as caller:
            _wait_for(caller, "/catalogs/near/ready", 200)
            asked = caller.post("/catalogs/near/api/v1/tables/db.t/optimize", {"type": "full"})
            assert asked.status == 202
            lake.wait_for("optimized")
            assert caller.get("/catalogs/far/ready").status == 503
            assert caller.get("/ready").status == 200
            began = time.monotonic()
    assert time.monotonic() - began < _SOON_SECONDS
    assert lake.rows("db.t") == [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


def test_a_catalog_whose_file_is_gone_is_away_until_it_is_back(tmp_path: Path) -> None:
    """No table is said to be missing, none is forgotten, and no empty file takes its place."""
    lake = Lake(tmp_path / "lake", now_ms=time.time_ns() // 1_000_000)
    lake.make("db.t", **QUIET)
    file, aside = tmp_path / "lake" / "catalog.db", tmp_path / "aside.db"
    with served(lake) as caller:
        _wait_for(caller, "/ready", 200)
        file.rename(aside)
        caller.post("/api/v1/look")
        lake.wait_for("failed")

        for path in ("/api/v1/tables/db.t/status", "/api/v1/tables/db.t/settings"):
            away = caller.get(path)
            assert (away.status, away.json["error"]["kind"]) == (503, "StorageError")
            assert away.message.startswith("the file of the catalog is gone; put it back")
        assert caller.get("/tables/db.t").status == 503
        assert caller.get("/api/v1/tables").json["total"] == 1
        assert not file.exists()

        aside.rename(file)
        assert caller.get("/api/v1/tables/db.t/status").status == 200
        asked = caller.post("/api/v1/tables/db.t/optimize", {}).json
        assert caller.wait_for_process(asked["id"])["process"]["status"] == "done"
    assert lake.tables("dropped") == []


def _rows(warehouse: str) -> pa.Table:
    return arctic.read("db.t", warehouse=warehouse).read_all()


def _wait_for(caller: Caller, path: str, status: int) -> Answer:
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := caller.get(path)).status != status:
        assert time.monotonic() < end, found.text
        time.sleep(0.02)
    return found


def _measured(caller: Caller) -> float:
    return next(
        float(sample.value)
        for family in text_string_to_metric_families(caller.get("/metrics").text)
        for sample in family.samples
        if sample.name == "arctic_look_silent_seconds"
    )
