"""Writers and a service that runs: who optimizes, and how soon it is known."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.commits.lease import Lease
from arctic.iceberg.commits.service_mark import mark_namespaces, serving_mark, unmark_namespaces
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import begin_engine_scan
from tests.http.caller import PATIENCE_SECONDS, Caller, served
from tests.service.lake import HOUR_MS, SCHEMA, Lake
from tests.service.outlets.receiver import receiving

KEPT = {"table-expire.enabled": "false"}
FRESH = [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """No tables yet."""
    return Lake(tmp_path / "lake", now_ms=time.time_ns() // 1_000_000)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A service of one table that nobody reads."""
    made = Lake(tmp_path_factory.mktemp("quiet"), now_ms=time.time_ns() // 1_000_000)
    made.make("db.t", **KEPT, **{"self-optimizing.enabled": "false"})
    with served(made) as caller:
        made.wait_for("found")
        yield caller


def _last_read(caller: Caller) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := caller.get("/api/v1/tables/db.t/reads/last")).status != 200:
        assert time.monotonic() < end
        time.sleep(0.01)
    told: dict[str, Any] = found.json
    return told


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


def test_a_read_is_told_to_the_service_that_the_environment_names_and_shown(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was planned only is not; a service that is not there costs a read nothing."""
    lake.make("db.t", **KEPT, **{"self-optimizing.enabled": "false"})
    with served(lake) as caller:
        lake.wait_for("found")
        assert caller.get("/api/v1/tables/db.t/reads/last").status == 404
        monkeypatch.setenv("ARCTIC_SERVICE", f"http://127.0.0.1:{caller.port}")
        arctic.explain("db.t", warehouse=lake.warehouse)
        rows = arctic.read("db.t", filter="id = 1", warehouse=lake.warehouse).read_all()
        told = _last_read(caller)
        page = caller.get("/tables/db.t").text

    assert rows.num_rows == 1
    assert told["table"] == "db.t"
    read = told["read"]
    assert "id" in read["row_filter"]
    assert read["considered_files"] == sum(
        each["files"] for each in (*read["opened"], *read["left_out"])
    )
    assert {each["kind"] for each in read["opened"]} == {"insert", "change delete"}
    assert "The last read</h3>" in page
    table = arctic.open_table("db.t", warehouse=lake.warehouse)
    assert table.count(filter="id = 1") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"row_filter": "x" * 1_001}, "row_filter"),
        ({"considered_files": -1}, "considered_files"),
        ({"opened": [{"kind": "base"}]}, "opened"),
        ({"left_out": [{"files": 1, "reason": "r"}] * 21}, "left_out"),
        ({"html": "<b>"}, "html"),
    ],
)
def test_a_read_that_cannot_be_is_refused(
    quiet: Caller, change: dict[str, object], said: str
) -> None:
    """By the name of what is wrong, and nothing is shown of it."""
    body = {"considered_files": 0, "opened": [], "left_out": []}
    refused = quiet.post("/api/v1/tables/db.t/reads", body | change)
    assert (refused.status, said in refused.message) == (400, True)
    assert quiet.get("/api/v1/tables/db.t/reads/last").status == 404
    assert quiet.post("/api/v1/tables/db.no/reads", body).status == 404


def test_of_many_reads_few_are_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One a second of each table; a filter of any length is cut."""
    lake.make("db.many", **KEPT)
    long = " or ".join(f"name = 'n{number}'" for number in range(200))
    with receiving() as receiver:
        monkeypatch.setenv("ARCTIC_SERVICE", receiver.url.partition("/hook")[0])
        began = time.monotonic()
        for _ in range(5):
            arctic.read("db.many", filter=long, warehouse=lake.warehouse).read_all()
        seconds = time.monotonic() - began
        with receiver.changed:
            assert receiver.changed.wait_for(lambda: receiver.arrived, timeout=60)

    assert len(receiver.arrived) <= 1 + seconds
    assert len(receiver.arrived[0]["row_filter"]) == 1_000


def test_a_read_of_an_engine_is_told_with_the_files_that_it_reads_by_itself(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the driver of Spark plans it."""
    lake.make("db.engine", **KEPT)
    asked = AskedRead.of({"path": "db.engine", "warehouse": lake.warehouse})
    with receiving() as receiver:
        monkeypatch.setenv("ARCTIC_SERVICE", receiver.url.partition("/hook")[0])
        scan = begin_engine_scan(
            asked,
            columns=("id",),
            engine=None,
            filter_for=lambda _: None,
            unreached=lambda _: "it is elsewhere",
        )
        with receiver.changed:
            assert receiver.changed.wait_for(lambda: receiver.arrived, timeout=60)

    (told,) = receiver.arrived
    assert told["row_filter"] is None
    assert sum(each["files"] for each in told["opened"]) > 0
    assert scan.groups


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
