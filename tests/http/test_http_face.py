"""The service over HTTP: what it tells, what it does, and what it refuses."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.sqlite import sqlite_uri
from tests.http.caller import Caller, served
from tests.service.lake import Lake

QUIET = {"table-expire.enabled": "false", "self-optimizing.enabled": "false"}
TOKEN = "a-token-of-some-length"
READ = {
    "row_filter": "id > 1",
    "considered_files": 5,
    "opened": [{"kind": "base", "files": 2, "rows": 9, "size_bytes": 900}],
    "left_out": [{"files": 3, "reason": "files without such rows"}],
}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A service of five tables, on which nothing runs that was not asked for."""
    lake = Lake(tmp_path_factory.mktemp("lake"), now_ms=time.time_ns() // 1_000_000)
    for name in ("db.a", "db.b", "db.c", "db.d"):
        lake.make(name, **QUIET)
    lake.make("db.etl", **QUIET, **{"self-optimizing.group": "etl"})
    with served(lake, groups={"default": 2}) as calling:
        assert calling.post("/api/v1/look").status == 202
        while calling.get("/ready").status != 200:
            time.sleep(0.01)
        yield calling


def test_tables_are_listed_in_pages_and_by_filters(caller: Caller) -> None:
    """Every page begins where the one before ended."""
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = caller.get(f"/api/v1/tables?limit=2&after={after}").json
        names += [each["name"] for each in page["tables"]]
        after = page["next"]
        assert page["total"] == 5
    assert names == ["db.a", "db.b", "db.c", "db.d", "db.etl"]

    of_etl = caller.get("/api/v1/tables?group=etl").json["tables"]
    assert [each["name"] for each in of_etl] == ["db.etl"]
    assert caller.get("/api/v1/tables?failing=true").json["total"] == 0


def test_a_run_that_is_asked_for_is_done_and_told_of(caller: Caller) -> None:
    """First what it would do, then what became of it, with its tasks."""
    would = caller.post("/api/v1/tables/db.a/preview", {"type": "full"})
    assert (would.status, would.json["partitions"][0]["type"]) == (200, "full")
    assert caller.lake.tables("optimized").count("db.a") == 0

    asked = caller.post("/api/v1/tables/db.a/optimize", {"type": "full"})
    assert (asked.status, asked.json["trigger"], asked.json["type"]) == (202, "call", "full")
    found = caller.wait_for_process(asked.json["id"])

    process = found["process"]
    assert (process["status"], process["failure"]) == ("done", None)
    assert process["files_before"] > process["files_after"]
    assert process["bytes_written"] > 0
    assert process["ended_ms"] >= process["started_ms"] >= process["asked_ms"]
    assert [each["status"] for each in found["tasks"]] == ["done"] * process["tasks"]
    assert sum(each["rows_out"] for each in found["tasks"]) == 2
    assert caller.lake.rows("db.a") == [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]
    newest = caller.get("/api/v1/processes?table=db.a&status=done&limit=1").json
    assert [each["id"] for each in newest["processes"]] == [process["id"]]
    assert caller.get("/api/v1/tables/db.a/status").json["health"] == 100


def test_a_cleaning_is_tried_and_then_done(caller: Caller) -> None:
    """What would go is told without a place; nothing goes before it is asked for."""
    caller.lake.make("db.old", **QUIET)
    change = {"set": {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}}
    assert caller.call("PATCH", "/api/v1/tables/db.old/settings", change).status == 200
    arctic.optimize("db.old", type="full", warehouse=caller.lake.warehouse)

    would = caller.post("/api/v1/tables/db.old/clean", {"dry_run": True})
    assert would.status == 200
    assert would.json["counts"]["change file"] > 0
    assert caller.lake.warehouse not in would.text
    assert caller.lake.tables("cleaned") == []

    asked = caller.post("/api/v1/tables/db.old/clean", {})
    assert (asked.status, asked.json["kind"]) == (202, "clean")
    assert caller.wait_for_process(asked.json["id"])["process"]["status"] == "done"
    assert caller.lake.tables("cleaned") == ["db.old"]
    again = caller.post("/api/v1/tables/db.old/clean", {"dry_run": True})
    assert again.json["counts"] == {}


def test_a_table_is_paused_and_resumed_by_its_property(caller: Caller) -> None:
    """Other services see it, too."""

    def is_on() -> str | None:
        opened = arctic.open_table("db.b", warehouse=caller.lake.warehouse)
        return opened.properties.get("self-optimizing.enabled")

    resumed = caller.post("/api/v1/tables/db.b/resume")
    assert (resumed.status, resumed.json["done"], is_on()) == (200, "resumed", "true")
    paused = caller.post("/api/v1/tables/db.b/pause")
    assert (paused.status, paused.json["done"], is_on()) == (200, "paused", "false")


def test_settings_are_changed_by_the_verb_that_checks_them(caller: Caller) -> None:
    """A bad value, an unknown name and one that is no setting are refused, and nothing changes."""
    path = "/api/v1/tables/db.c/settings"
    change = {"set": {"self-optimizing.quota": "2"}, "unset": ["self-optimizing.group"]}
    changed = caller.call("PATCH", path, change)
    assert changed.status == 200
    values = {each["name"]: each["value"] for each in caller.get(path).json}
    assert values["self-optimizing.quota"] == "2"
    assert values["self-optimizing.group"] is None

    for wrong, said in (
        ({"self-optimizing.quota": "much"}, "expected a number above 0"),
        ({"self-optimizing.qouta": "2"}, "did you mean 'self-optimizing.quota'"),
        ({"arctic.lease": "1 x"}, "none that a call changes"),
        ({"write.data.path": "/etc"}, "none that a call changes"),
    ):
        refused = caller.call("PATCH", path, {"set": wrong})
        assert refused.status == 400
        assert said in refused.message
    assert values == {each["name"]: each["value"] for each in caller.get(path).json}


def test_a_group_is_scaled_while_it_runs(caller: Caller) -> None:
    """Without slots what is asked for waits, and can be cancelled."""
    assert caller.call("PATCH", "/api/v1/groups/default", {"slots": 0}).json["slots"] == 0
    asked = caller.post("/api/v1/tables/db.d/optimize", {}).json
    again = caller.post("/api/v1/tables/db.d/optimize", {})
    assert (again.status, f"process {asked['id']} waits" in again.message) == (409, True)
    assert caller.post("/api/v1/tables/db.d/cancel").json["done"] == "cancelled what was waiting"
    assert caller.wait_for_process(asked["id"])["process"]["status"] == "cancelled"

    waiting = caller.post("/api/v1/tables/db.d/optimize", {"type": "minor"}).json
    assert caller.call("PATCH", "/api/v1/groups/default", {"slots": 3}).status == 200
    assert caller.wait_for_process(waiting["id"])["process"]["status"] == "done"
    groups = caller.get("/api/v1/groups").json
    assert [(each["name"], each["slots"], each["executor"]) for each in groups] == [
        ("default", 3, "thread")
    ]
    nothing = caller.post("/api/v1/tables/db.d/cancel")
    assert (nothing.status, nothing.message) == (404, "table 'db.d': nothing of it runs or waits")


def test_what_does_not_exist_is_said_to_be_missing(caller: Caller) -> None:
    """A table that came since the last look is found."""
    caller.lake.make("db.late", **QUIET)
    assert caller.get("/api/v1/tables/db.late").json["group"] == "default"
    for path, said in (
        ("/api/v1/tables/db.aa", "did you mean db.a"),
        ("/api/v1/tables/no.t", "no namespace 'no'"),
        ("/api/v1/processes/99999", "process 99999"),
        ("/nothing", "no such page"),
    ):
        missing = caller.get(path)
        assert missing.status == 404
        assert missing.json["error"]["kind"] == "NotFoundError"
        assert said in missing.message
    etl = caller.post("/api/v1/tables/db.etl/optimize", {})
    assert (etl.status, "it is of group 'etl'" in etl.message) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/tables?limit=0", None),
        ("GET", "/api/v1/tables?limit=many", None),
        ("GET", "/api/v1/tables?health_below=1e9", None),
        ("GET", "/api/v1/tables/users", None),
        ("GET", "/api/v1/tables/..", None),
        ("GET", "/api/v1/tables/a..b", None),
        ("GET", "/api/v1/tables/a.b%00", None),
        ("GET", "/api/v1/tables/" + "a." * 400 + "b", None),
        ("GET", "/api/v1/processes/99999999999999999999", None),
        ("GET", "/api/v1/processes?status=odd", None),
        ("POST", "/api/v1/tables/db.a/optimize", {"type": "huge"}),
        ("POST", "/api/v1/tables/db.a/optimize", {"typ": "full"}),
        ("POST", "/api/v1/tables/db.a/optimize", ["full"]),
        ("POST", "/api/v1/tables/db.a/optimize", b"{"),
        ("POST", "/api/v1/tables/db.a/optimize", b"[" * 60_000),
        ("POST", "/api/v1/tables/db.a/optimize", b"\xff\xfe"),
        ("POST", "/api/v1/tables/db.a/optimize", None),
        ("PATCH", "/api/v1/tables/db.a/settings", {"set": {"self-optimizing.quota": 2}}),
        ("PATCH", "/api/v1/tables/db.a/settings", {"set": {"self-optimizing.group": "g" * 1_001}}),
        (
            "PATCH",
            "/api/v1/tables/db.a/settings",
            {"set": {"self-optimizing.min-plan-interval": "9" * 400}},
        ),
        ("PATCH", "/api/v1/groups/default", {"slots": "3"}),
        ("PATCH", "/api/v1/groups/default", {"slots": 10**9}),
        ("PATCH", "/api/v1/groups/default", {"slots": True}),
    ],
)
def test_bad_calls_are_refused_in_words(
    caller: Caller, method: str, path: str, body: object
) -> None:
    """As JSON, with what was wrong; the service goes on."""
    refused = caller.call(method, path, body)

    assert refused.status == 400
    assert refused.message
    assert caller.get("/health").json == {"status": "ok"}


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/static/../../../etc/passwd", "/static/%2e%2e/%2e%2e/__init__.py"]
)
def test_no_path_leads_out(caller: Caller, path: str) -> None:
    """Neither of the calls nor of the files of the page."""
    assert caller.get(path).status == 404


def test_a_page_of_another_site_can_neither_ask_nor_do_anything(caller: Caller) -> None:
    """Not under another name of this machine either."""
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        refused = caller.get("/api/v1/tables", host=host)
        assert (refused.status, "is not this machine" in refused.message) == (403, True)
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[::1"},
        {"origin": f"http://localhost:{caller.port}"},
        {"sec-fetch-site": "cross-site"},
    ):
        assert caller.call("POST", "/api/v1/look", headers=headers).status == 403
    own = {"origin": f"http://127.0.0.1:{caller.port}", "sec-fetch-site": "same-origin"}
    assert caller.call("POST", "/api/v1/look", headers=own).status == 202
    assert "access-control-allow-origin" not in caller.get("/api/v1/tables").headers


def test_a_body_of_a_gigabyte_is_refused_before_it_is_sent(caller: Caller) -> None:
    """Whether its length is told or not."""
    head = f"POST /api/v1/tables/db.a/optimize HTTP/1.1\r\nhost: 127.0.0.1:{caller.port}\r\n"
    told = f"{head}content-type: application/json\r\ncontent-length: 1073741824\r\n\r\n"
    chunked = f"{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    for request, most in ((told, 0), (chunked, 1_000)):
        with socket.create_connection(("127.0.0.1", caller.port), timeout=60) as connection:
            connection.sendall(request.encode())
            sent = 0
            try:
                while sent < most:
                    connection.sendall(chunk)
                    sent += 1
            except OSError:
                pass  # It was closed before everything was sent, as it should be.
            else:
                assert most == 0
            connection.settimeout(60)
            try:
                answer = connection.recv(65_536).decode()
            except ConnectionResetError:
                assert sent
            else:
                assert answer.startswith("HTTP/1.1 413") or (sent and not answer)
    assert caller.get("/health").status == 200


def test_prometheus_can_read_what_is_measured(caller: Caller) -> None:
    """By its own parser."""
    caller.wait_for_process(caller.post("/api/v1/tables/db.b/optimize", {}).json["id"])
    late = {"self-optimizing.minor.trigger.file-count": "99", "table-expire.enabled": "false"}
    caller.lake.make("db.measured", **late)
    assert caller.get("/api/v1/tables/db.measured").json["due"] is None
    answer = caller.get("/metrics")
    found = {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }

    assert answer.headers["content-type"].startswith("text/plain")
    assert found["arctic_events_total", ("optimized",)] >= 1
    assert found["arctic_event_seconds_total", ("optimized",)] > 0
    assert found["arctic_group_slots", ("default",)] >= 2
    assert found["arctic_tables_unreadable", ()] == 0
    counts = ("kept_bytes", "fetched_bytes", "requests", "unkept_bytes", "evicted_bytes")
    assert {found[f"arctic_cache_{each}_total", ()] >= 0 for each in counts} == {True}
    bytes_of = found["arctic_table_bytes", ("db.measured",)]
    assert found["arctic_table_unmerged_bytes", ("db.measured",)] == bytes_of > 0
    assert 0 < found["arctic_table_behind_seconds", ("db.measured",)] < 600


def test_the_page_of_the_api_loads_nothing_from_elsewhere(caller: Caller) -> None:
    """Its script is here, and its policy keeps it from asking others."""
    page, document = caller.get("/docs"), caller.get("/openapi.json").json
    assert "/api/v1/tables/{name}/optimize" in document["paths"]
    assert page.status == 200
    assert "https://" not in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert caller.get("/static/swagger-ui-bundle.js").status == 200


def test_with_a_token_every_call_shows_it(tmp_path: Path) -> None:
    """But those that tell nothing of any table; a browser may show it as a password."""
    lake = Lake(tmp_path / "lake", now_ms=time.time_ns() // 1_000_000)
    lake.make("db.t", **QUIET)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with served(lake, http_token_file=str(file), history=str(tmp_path / "h.db")) as caller:
        wrong = [
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": f"Bearer {TOKEN}x"},
            {"authorization": "Basic !!!"},
            {"authorization": "Bearer \xe9"},
            {"authorization": TOKEN},
        ]
        for headers in wrong:
            for method, path in (("GET", "/api/v1/tables"), ("POST", "/api/v1/look")):
                refused = caller.call(method, path, headers=headers)
                assert refused.status == 401
                assert "www-authenticate" in refused.headers
        for name in ("token", "access_token", "authorization"):
            assert caller.get(f"/api/v1/tables?{name}={TOKEN}").status == 401
        assert caller.get("/metrics").status == 401
        assert caller.get("/health").status == 200
        basic = base64.b64encode(f"x:{TOKEN}".encode()).decode()
        assert caller.get("/api/v1/tables", authorization=f"Basic {basic}").status == 200
        caller.token = TOKEN
        assert caller.get("/api/v1/tables").status == 200
        assert caller.get("/api/v1/tables", host="lake.example").status == 200
        said = json.dumps([caller.get("/api/v1/service").json, lake.said], default=str)
    assert TOKEN not in said


def test_no_answer_has_a_path_or_a_secret(tmp_path: Path) -> None:
    """Whatever can be asked for, of tables that are well, and of those whose files are gone."""
    lake = Lake(tmp_path / "hidden-place", now_ms=time.time_ns() // 1_000_000)
    for name in ("db.good", "db.lost", "db.torn"):
        lake.make(name, **QUIET)
    for file in (tmp_path / "hidden-place").rglob("*"):
        if "lost" in str(file) and file.name.endswith(".metadata.json"):
            file.unlink()
        elif "torn_change_" in str(file) and file.suffix == ".parquet":
            file.write_bytes(b"PAR1")
    catalog = {
        "uri": sqlite_uri(lake.folder / "catalog.db"),
        "warehouse": lake.warehouse,
        "s3.secret-access-key": "hidden-secret",
    }
    (tmp_path / "token").write_text(TOKEN)
    given = {
        "history": str(tmp_path / "hidden-place" / "history.db"),
        "http_token_file": str(tmp_path / "token"),
    }
    with served(lake, warehouse=None, catalog=catalog, **given) as caller:
        caller.token = TOKEN
        caller.post("/api/v1/look")
        lake.wait_for("failed")
        asked = caller.post("/api/v1/tables/db.torn/optimize", {"type": "full"}).json["id"]
        failed = caller.wait_for_process(asked)
        assert failed["process"]["status"] == "failed"
        assert caller.post("/api/v1/tables/db.good/reads", READ).status == 202
        answers = {path: caller.get(path) for path in _all_paths(caller, asked)}
        would = "/api/v1/tables/db.good/clean"
        answers[would] = caller.post(would, {"dry_run": True})

    assert len(answers) > 30
    statuses = {answer.status for answer in answers.values()}
    assert statuses == {200, 404, 503}, {path: each.status for path, each in answers.items()}
    for path, answer in answers.items():
        for hidden in ("hidden-", str(tmp_path), "catalog.db", "history.db", TOKEN):
            assert hidden not in answer.text, (path, hidden)


def _all_paths(caller: Caller, process_id: int) -> Iterator[str]:
    """Yield whatever a GET can ask for, of each table and of one that is not there."""
    for path, methods in caller.get("/openapi.json").json["paths"].items():
        if "get" not in methods:
            continue
        names = ("default",) if "/groups/" in path else ("db.good", "db.lost", "db.torn", "no.such")
        for name in names if "{name}" in path else ("",):
            yield path.replace("{name}", name).replace("{process_id}", str(process_id))
    yield from ("/", "/groups/default", "/docs", "/openapi.json", "/tables/no.such")
    for name in ("db.good", "db.lost", "db.torn"):
        yield f"/tables/{name}?cleaning=1&filter=id%20%3E%201"


def test_an_address_that_is_taken_is_refused_before_anything_begins(tmp_path: Path) -> None:
    """In words."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InvalidInputError, match="that nobody listens on"):
            arctic.serve(http=address, stop=threading.Event(), warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match="http beside once"):
        arctic.serve(http="127.0.0.1:0", once=True, warehouse=str(tmp_path))
