"""The pages that the service shows: of all tables, of one, and of one that cannot be shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.http.caller import Caller, served
from tests.page.browser import chromium, opened_browser, opened_page
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
    assert "fulls are put off, and a table rests up to 8 times as long" in page.text
    assert "; a peak:" not in page.text
    assert "hidden-place" not in page.text


def test_the_page_of_a_table_tells_what_the_service_did(caller: Caller) -> None:
    """And takes the filter of a read."""
    page = caller.get("/tables/db.own?filter=id%20%3E%201")

    assert page.status == 200
    assert "optimize minor" in page.text
    assert "id &gt; 1" in page.text
    assert "hidden-place" not in page.text


def test_a_cleaning_is_looked_for_where_that_is_asked(caller: Caller) -> None:
    """Nothing is removed; files are told by their names alone."""
    page = caller.get("/tables/db.own?cleaning=1")

    assert page.status == 200
    assert "?cleaning=1" not in page.text
    assert "?cleaning=1" in caller.get("/tables/db.own").text
    assert "hidden-place" not in page.text
    assert caller.lake.tables("cleaned") == []


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="no Chromium; on Debian: apt install chromium")
def test_the_buttons_plan_a_run_and_begin_one(caller: Caller) -> None:
    """In a real browser, under the policy of the server: first a dry run, then the run itself."""
    with opened_browser() as browser, opened_page(browser) as (page, wrong):
        page.goto(f"http://127.0.0.1:{caller.port}/")
        page.get_by_role("link", name="db.own").click()
        form = page.locator("form[data-calls]")
        form.get_by_role("combobox").select_option("full")
        form.get_by_role("button", name="Dry run").click()
        expect(form.get_by_role("status")).to_contain_text("nothing", timeout=60_000)
        form.get_by_role("button", name="Optimize").click()
        expect(form.get_by_role("status")).to_contain_text("done", timeout=60_000)
        assert page.evaluate("getComputedStyle(document.querySelector('.facts')).display") == "flex"
        assert wrong == []


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
