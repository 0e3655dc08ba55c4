"""Writers and a service that runs: who optimizes, and how soon it is known."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.commits.lease import Lease
from arctic.iceberg.commits.service_mark import mark_namespaces, serving_mark, unmark_namespaces
from tests.http.caller import PATIENCE_SECONDS, served
from tests.service.lake import HOUR_MS, SCHEMA, Lake

KEPT = {"table-expire.enabled": "false"}
FRESH = [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """No tables yet."""
    return Lake(tmp_path / "lake", now_ms=time.time_ns() // 1_000_000)


def _save(lake: Lake, text: str) -> None:
    rows = pa.table({"id": [1, 2], "name": [text, text]}, schema=SCHEMA)
    options = {"optimize": "auto"}
    arctic.write("db.t", rows, mode="upsert", options=options, warehouse=lake.warehouse)


def _is_due(lake: Lake) -> bool:
    return arctic.status("db.t", warehouse=lake.warehouse).due is not None


def test_a_save_is_seen_at_once_by_the_service_that_the_environment_names(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose next look is a day away; one that is not there costs a write nothing."""
    lake.make("db.other", **KEPT, **{"self-optimizing.min-plan-interval": "0"})
    with served(lake) as caller:
        lake.wait_for("optimized")
        lake.forget()
        monkeypatch.setenv("ARCTIC_SERVICE", f"http://127.0.0.1:{caller.port}/")
        lake.upsert("db.other")
        lake.wait_for("optimized")
    lake.upsert("db.other")
    monkeypatch.setenv("ARCTIC_SERVICE", "no address")
    lake.upsert("db.other")

    assert lake.rows("db.other") == FRESH


def test_a_writer_leaves_optimizing_to_a_service_as_long_as_there_is_one(lake: Lake) -> None:
    """Neither a group that it has not, nor a table that is kept from it."""
    at_once = {"self-optimizing.min-plan-interval": "0", "self-optimizing.group": "etl"}
    lake.make("db.t", **KEPT, **at_once)
    _save(lake, "new")
    assert not _is_due(lake)

    now_ms = time.time_ns() // 1_000_000
    mark = Lease(owner="service-1", until_ms=now_ms + HOUR_MS)
    mark_namespaces(lake.config, ["default"], mark)
    _save(lake, "new")
    assert not _is_due(lake)

    mark_namespaces(lake.config, ["etl"], mark)
    _save(lake, "new")
    assert _is_due(lake)

    unmark_namespaces(lake.config, ["etl"], "service-2")
    assert serving_mark(lake.config, "db.t", "etl") == mark
    arctic.set_properties("db.t", {"self-optimizing.enabled": "false"}, warehouse=lake.warehouse)
    _save(lake, "new")
    assert not _is_due(lake)

    arctic.unset_properties("db.t", "self-optimizing.enabled", warehouse=lake.warehouse)
    mark_namespaces(lake.config, ["etl"], Lease(owner="service-1", until_ms=now_ms - 1))
    _save(lake, "new")
    assert not _is_due(lake)
    assert lake.rows("db.t") == FRESH


def test_a_service_marks_its_groups_while_it_runs(lake: Lake) -> None:
    """And takes the mark away when it ends."""
    lake.make("db.t", **KEPT)
    with served(lake, groups={"default": 1}):
        end = time.monotonic() + PATIENCE_SECONDS
        while (mark := serving_mark(lake.config, "db.t", "default")) is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert mark.holds(time.time_ns() // 1_000_000)
        assert serving_mark(lake.config, "db.t", "etl") is None
    assert serving_mark(lake.config, "db.t", "default") is None
