"""One service of two catalogs over HTTP: every table has one address, and one may be away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.sqlite import sqlite_uri
from tests.http.caller import PATIENCE_SECONDS, Caller, served
from tests.service.lake import Lake

QUIET = {"table-expire.enabled": "false", "self-optimizing.enabled": "false"}


@dataclass
class Both:
    """Two lakes in which the same table is, and one who calls."""

    prod: Lake
    dev: Lake
    caller: Caller

    def wait_until_ready(self, name: str) -> None:
        """Wait until a catalog was looked at."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.caller.get(f"/catalogs/{name}/ready").status != 200:
            assert time.monotonic() < end
            time.sleep(0.02)


def catalog_of(lake: Lake) -> dict[str, str]:
    """Return the properties of its catalog."""
    database = lake.folder / "catalog.db"
    return {"type": "sql", "uri": sqlite_uri(database), "warehouse": f"file://{lake.folder}"}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    """A service whose second catalog is not there at first."""
    now_ms = time.time_ns() // 1_000_000
    prod, dev = (Lake(tmp_path / name, now_ms=now_ms) for name in ("prod", "dev"))
    prod.make("db.t", **QUIET)
    catalogs = {"prod": catalog_of(prod), "dev": catalog_of(dev)}
    options = {"warehouse": None, "catalogs": catalogs, "interval_seconds": 1}
    with served(prod, **options, groups={"default": 1, "prod/etl": 2}) as caller:
        both = Both(prod, dev, caller)
        both.wait_until_ready("prod")
        yield both


def test_a_catalog_that_is_away_stops_no_other_and_is_taken_up_when_it_is_there(
    both: Both,
) -> None:
    """It is told of by name; the process is ready meanwhile."""
    caller = both.caller
    away = caller.get("/catalogs/dev/api/v1/tables")
    assert (away.status, away.json["error"]["kind"]) == (503, "StorageError")
    assert "catalog 'dev': it could not be opened yet" in away.message
    assert caller.get("/catalogs/else/api/v1/tables").status == 404
    ready = caller.get("/ready")
    assert (ready.status, ready.json["catalogs"]["prod"]) == (200, "ok")
    assert ready.json["catalogs"]["dev"] != "ok"
    told = [facts for event, facts in both.prod.said if event == "failed"]
    assert {facts["catalog"] for facts in told} == {"dev"}
    assert "it could not be opened yet" in caller.get("/").text

    both.dev.make("db.t", **QUIET)
    both.wait_until_ready("dev")

    rows = caller.get("/api/v1/catalogs").json
    assert [(row["name"], row["status"], row["tables"]) for row in rows] == [
        ("dev", "ok", 1),
        ("prod", "ok", 1),
    ]


def test_a_table_is_addressed_by_its_catalog(both: Both) -> None:
    """What is asked for is done in that one, with its groups, pages, metrics and documents."""
    both.dev.make("db.t", **QUIET)
    both.wait_until_ready("dev")
    caller = both.caller

    run = caller.post("/catalogs/dev/api/v1/tables/db.t/optimize", {"type": "full"})
    assert run.status == 202
    end = time.monotonic() + PATIENCE_SECONDS
    at = f"/catalogs/dev/api/v1/processes/{run.json['id']}"
    while caller.get(at).json["process"]["status"] != "done":
        assert time.monotonic() < end
        time.sleep(0.02)

    assert caller.get("/catalogs/prod/api/v1/processes").json["processes"] == []
    groups = {
        name: [each["name"] for each in caller.get(f"/catalogs/{name}/api/v1/groups").json]
        for name in ("prod", "dev")
    }
    assert groups == {"prod": ["default", "etl"], "dev": ["default"]}
    overview = caller.get("/catalogs/dev/").text
    assert 'href="/catalogs/dev/tables/db.t"' in overview
    assert 'src="/catalogs/dev/page.js"' in overview
    assert 'href="/">All catalogs' in overview
    assert caller.get("/catalogs/dev/page.js").status == 200
    page = caller.get("/catalogs/dev/tables/db.t").text
    assert 'data-calls="/catalogs/dev/api/v1/tables/db.t"' in page
    assert 'data-processes="/catalogs/dev/api/v1/processes"' in page
    assert caller.get("/catalogs/dev/openapi.json").status == 200
    assert "'unsafe-inline'" in caller.get("/catalogs/dev/docs").headers["content-security-policy"]
    assert 'href="/catalogs/dev/"' in caller.get("/").text
    assert {caller.get(f"/page.{kind}").status for kind in ("css", "js")} == {200}

    found = {
        (sample.labels["catalog"], sample.labels["group"]): sample.value
        for family in text_string_to_metric_families(caller.get("/metrics").text)
        for sample in family.samples
        if sample.name == "arctic_group_slots"
    }
    assert found == {("prod", "default"): 1, ("prod", "etl"): 2, ("dev", "default"): 1}
    requests = [
        sample.labels
        for family in text_string_to_metric_families(caller.get("/metrics").text)
        for sample in family.samples
        if sample.name == "arctic_cache_requests_total"
    ]
    assert requests == [{}]  # of the process, which the catalogs share


def test_a_catalog_that_cannot_be_ends_the_others_at_once(tmp_path: Path) -> None:
    """No waiting mends it."""
    lake = Lake(tmp_path)
    lake.make("db.t", **QUIET)
    catalogs = {"prod": catalog_of(lake), "dev": {"type": "nonsense"}}

    with (
        pytest.raises(InvalidInputError, match="nonsense"),
        served(lake, warehouse=None, catalogs=catalogs),
    ):
        lake.wait_for("stopped")
