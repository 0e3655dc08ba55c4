"""The pages that a service serves, in a real browser: each kept to the rules, and to its server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from arctic.iceberg.catalogs.sqlite import sqlite_uri
from arctic.page.facts.lake_facts import StateFacts
from arctic.page.pages import overview_page
from arctic.page.rendered import Frame
from tests.http.caller import Caller, served
from tests.page.browser import chromium, opened_browser, opened_page
from tests.page.made_facts import lake as made_lake
from tests.page.made_facts import row
from tests.service.lake import Lake

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no Chromium; on Debian: apt install chromium"),
]
KEPT = {"table-expire.enabled": "false"}
READ = {
    "row_filter": "id > 1",
    "considered_files": 5,
    "opened": [{"kind": "base", "files": 2, "rows": 9, "size_bytes": 900}],
    "left_out": [{"files": 3, "reason": "files without such rows"}],
}
HOME = "/catalogs/near/"
PAGES = {
    "catalogs": "/",
    "overview": HOME,
    "table": f"{HOME}tables/db.own?filter=id%20%3E%201",
    "group": f"{HOME}groups/default",
    "failure": f"{HOME}tables/db.lost",
}
MOST_SECONDS = 2.0
"""For a thousand tables, on a machine with nothing else to do."""


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A service of two catalogs, one away; tables rest, are paused, another's, torn and lost."""
    lake = Lake(tmp_path_factory.mktemp("lake"), now_ms=time.time_ns() // 1_000_000)
    lake.make("db.own", **KEPT)
    lake.make("db.etl", **KEPT, **{"self-optimizing.group": "etl"})
    lake.make("db.paused", **KEPT, **{"self-optimizing.enabled": "false"})
    for name in ("db.lost", "db.torn"):
        lake.make(name, **KEPT)
    for file in lake.folder.rglob("*"):
        if "lost" in str(file) and file.name.endswith(".metadata.json"):
            file.unlink()
        elif "torn" in str(file) and file.suffix == ".parquet":
            file.write_bytes(b"PAR1")
    near = {"uri": sqlite_uri(lake.folder / "catalog.db"), "warehouse": lake.warehouse}
    far = {"type": "rest", "uri": "http://127.0.0.1:9"}
    catalogs = {"near": near, "far": far}
    with served(lake, warehouse=None, catalogs=catalogs, groups={"default": 1}) as calling:
        lake.wait_for("optimized")
        with lake.spoke:
            assert lake.spoke.wait_for(lambda: _has_failed(lake, "db.torn"), timeout=60)
        told = calling.post(f"{HOME}api/v1/tables/db.own/reads", READ)
        assert told.status == 202, told.text
        yield calling


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this file."""
    with opened_browser() as started:
        yield started


@pytest.mark.parametrize("view", PAGES)
def test_a_served_page_keeps_the_rules_of_axe_and_asks_nobody_but_its_server(
    browser: Browser, caller: Caller, view: str
) -> None:
    """Light and wide, dark and narrow, with everything unfolded and every form shown."""
    for dark, width in ((False, 1_280), (True, 400)):
        with opened_page(browser, width=width, dark=dark) as (page, wrong):
            asked = _recorded(page)
            page.goto(f"http://127.0.0.1:{caller.port}{PAGES[view]}")
            page.evaluate(
                "for (const each of document.querySelectorAll('details')) each.open = true"
            )
            found = Axe().run(page)

            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert {urlsplit(each).netloc for each in asked} == {f"127.0.0.1:{caller.port}"}
            is_error = view == "failure"
            assert [each for each in wrong if not (is_error and "503" in each)] == []


def test_the_page_of_the_api_asks_nobody_but_its_server(browser: Browser, caller: Caller) -> None:
    """Though it is drawn by scripts of others."""
    with opened_page(browser) as (page, _):
        asked = _recorded(page)
        page.goto(f"http://127.0.0.1:{caller.port}{HOME}docs")
        expect(page.locator("#swagger-ui")).to_contain_text("/api/v1/tables", timeout=60_000)

        assert {urlsplit(each).netloc for each in asked} == {f"127.0.0.1:{caller.port}"}


def test_the_overview_says_what_is_wrong_and_leads_to_the_queue_by_the_keyboard(
    browser: Browser, caller: Caller
) -> None:
    """A table whose runs fail is first after those that are broken."""
    with opened_page(browser) as (page, wrong):
        page.goto(f"http://127.0.0.1:{caller.port}{HOME}")
        rows = page.locator("#all tbody tr")
        for number, store in enumerate(("db.lost", "db.lost_change_")):
            expect(rows.nth(number)).to_contain_text(f"{store}brokenbroken")
        expect(rows.nth(2)).to_contain_text("db.torn")
        expect(rows.nth(2)).to_contain_text(re.compile(r"failing \d+ in a row, again in"))
        expect(page.locator("#all")).to_contain_text("paused")
        expect(page.locator("#all")).to_contain_text("of another group")
        assert str(caller.lake.folder) not in page.content()
        heads = page.locator("#all thead th").count()
        assert (
            page.evaluate(
                "[...document.querySelectorAll('#all tbody tr')].map(each => each.cells.length)"
            )
            == [heads] * rows.count()
        )

        page.get_by_role("link", name="default").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Group default")
        assert wrong == []


def test_every_row_of_a_table_page_has_a_cell_for_each_head(
    browser: Browser, caller: Caller
) -> None:
    """Nobody sees otherwise whose a value is."""
    with opened_page(browser) as (page, _):
        page.goto(f"http://127.0.0.1:{caller.port}{PAGES['table']}")
        uneven = page.evaluate(
            """[...document.querySelectorAll('main table')].filter(table =>
                 [...table.tBodies[0].rows].some(row =>
                   [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0)
                   !== table.tHead.rows[0].cells.length))
               .map(table => table.caption.textContent)"""
        )

        assert page.locator("main table").count() > 5
        assert uneven == []


def test_a_thousand_tables_are_drawn_served_and_shown_in_two_seconds(
    browser: Browser, tmp_path: Path
) -> None:
    """From the facts to the end of the page's script; the machine may have others to serve."""
    state = StateFacts(word="waiting", why="for 3 min")
    rows = [
        row(f"shop.t{each:04}", score=each % 101, due="minor", state=state) for each in range(1_000)
    ]
    links = {each.name: f"/tables/{each.name}" for each in rows}
    began = time.process_time()
    text = overview_page(made_lake(*rows, slots=True), Frame(home="", is_served=False), links=links)
    drawn = time.process_time() - began
    file = tmp_path / "overview.html"
    file.write_text(text, encoding="utf-8")
    with opened_page(browser) as (page, wrong):
        page.goto(file.as_uri(), wait_until="load")
        expect(page.get_by_role("status")).to_have_text("1 to 50 of 1000")
        shown = page.evaluate("performance.getEntriesByType('navigation')[0].duration") / 1_000
        assert wrong == []
    assert drawn + shown < 3 * MOST_SECONDS, f"drawn in {drawn:.2f} s, shown in {shown:.2f} s"


def _has_failed(lake: Lake, table: str) -> bool:
    return any(said == "failed" and facts.get("table") == table for said, facts in lake.said)


def _recorded(page: Page) -> list[str]:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked
