"""The pages that the service shows: of all tables, of one, and of one that cannot be shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.caller import Caller, served
from tests.service.lake import Lake

KEPT = {"table-expire.enabled": "false"}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A service of a table that it looks into, one of another group, and one that is lost."""
    folder: Path = tmp_path_factory.mktemp("hidden-place")
    lake = Lake(folder, now_ms=time.time_ns() // 1_000_000)
    lake.make("db.own", **KEPT)
    lake.make("db.etl", **KEPT, **{"self-optimizing.group": "etl"})
    lake.make("db.lost", **KEPT)
    for file in folder.rglob("*.metadata.json"):
        if "lost" in str(file):
            file.unlink()
    with served(lake, groups={"default": 2}) as calling:
        lake.wait_for("optimized")
        yield calling


def test_the_overview_shows_every_table_and_those_that_are_broken(caller: Caller) -> None:
    """Without a path; each that can be looked at leads to its page."""
    page = caller.get("/")

    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    for name in ("db.own", "db.etl", "db.lost"):
        assert name in page.text
    assert 'href="/tables/db.own"' in page.text
    assert 'href="/tables/db.lost"' not in page.text
    assert "hidden-place" not in page.text


def test_the_page_of_a_table_tells_what_the_service_did(caller: Caller) -> None:
    """And takes the filter of a read."""
    page = caller.get("/tables/db.own?filter=id%20%3E%201")

    assert page.status == 200
    assert "optimize minor" in page.text
    assert "id &gt; 1" in page.text
    assert "hidden-place" not in page.text


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/tables/db.no", 404, "not found"),
        ("/tables/db.lost", 503, "db.lost"),
        ("/tables/db.own?filter=no%20%3E%201", 400, "no"),
        ("/tables/%3Cscript%3E.t", 404, "&lt;script&gt;"),
    ],
)
def test_what_cannot_be_shown_is_a_page_that_says_why(
    caller: Caller, path: str, status: int, said: str
) -> None:
    """Escaped, and without a path."""
    page = caller.get(path)

    assert page.status == status
    assert page.headers["content-type"].startswith("text/html")
    assert said in page.text
    assert "<script>." not in page.text
    assert "hidden-place" not in page.text


def test_style_and_script_are_served_and_nothing_else_runs(caller: Caller) -> None:
    """By the policy of every page."""
    assert caller.get("/page.css").headers["content-type"].startswith("text/css")
    assert caller.get("/page.js").headers["content-type"].startswith("text/javascript")
    policy = caller.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
