"""Pages in a real browser: what runs, what is seen and heard, what the keyboard reaches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from arctic.page.facts.lake_facts import CatalogRow
from arctic.page.pages import catalogs_page, failure_page, overview_page, table_page
from arctic.page.rendered import Frame
from tests.page.browser import chromium, opened_browser, opened_page
from tests.page.made_facts import hostile, lake, row

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no Chromium; on Debian: apt install chromium"),
]
FRAME = Frame(home="../", is_served=False)
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&"
TABLES = 1_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this file."""
    with opened_browser() as started:
        yield started


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of every view."""
    folder = tmp_path_factory.mktemp("views")
    rows = [
        row(f"shop.t{number:04}", score=number % 101, due="minor" if number % 3 else None)
        for number in range(TABLES)
    ]
    links = {each.name: "table.html" for each in rows}
    pages = {
        "overview": overview_page(lake(*rows, broken=("a.gone",), slots=True), FRAME, links=links),
        "few": overview_page(lake(*rows[::50], broken=("a.gone",), slots=True), FRAME, links=links),
        "nothing": overview_page(lake(), FRAME, links={}),
        "table": table_page(hostile("shop.users"), FRAME),
        "hostile": table_page(hostile(MARKUP), FRAME),
        "failure": failure_page(MARKUP, MARKUP, FRAME),
        "catalogs": catalogs_page(
            [
                CatalogRow(name="prod", bad=None, tables=9, due=1, failing=0, looked_ms=1),
                CatalogRow(name=MARKUP, bad=MARKUP, tables=0, due=0, failing=0, looked_ms=None),
            ],
            Frame(home="", is_served=False, above="/"),
        ),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


VIEWS = ("few", "nothing", "table", "hostile", "failure", "catalogs")


def _shows_all(page: Page) -> None:
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1_280), (True, 400)], ids=["light", "dark-narrow"]
)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_keeps_the_rules_of_axe(
    browser: Browser, views: dict[str, str], view: str, dark: bool, width: int
) -> None:
    """Contrast, names, landmarks, headings and tables, with everything unfolded."""
    with opened_page(browser, width=width, dark=dark) as (page, wrong):
        page.goto(views[view])
        _shows_all(page)
        found = Axe().run(page)

        assert found.violations_count == 0, found.generate_report()
        assert wrong == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_screen_scrolls_tables_and_drawings_not_the_page(
    browser: Browser, views: dict[str, str], view: str
) -> None:
    """At 400 pixels, and what is wider can be scrolled by the keyboard."""
    with opened_page(browser, width=400) as (page, _):
        page.goto(views[view])
        _shows_all(page)

        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.evaluate(
            "[...document.querySelectorAll('.scroll')].every(each => each.tabIndex === 0)"
        )


def test_names_run_nothing_and_ask_for_nothing(browser: Browser, views: dict[str, str]) -> None:
    """The only thing that is loaded is the page."""
    with opened_page(browser) as (page, wrong):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(views["hostile"])
        _shows_all(page)

        assert [each for each in asked if not each.startswith("data:")] == [views["hostile"]]
        assert wrong == []
        assert page.locator("img").count() == 0
        assert MARKUP in page.locator("h1").inner_text()


def test_what_gets_past_the_escaping_is_not_run(
    browser: Browser, views: dict[str, str], tmp_path: Path
) -> None:
    """The second wall: the policy of the page."""
    text = Path(views["table"].removeprefix("file://")).read_text(encoding="utf-8")
    broken = text.replace("<h1>", f"<h1>{MARKUP}", 1)
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    with opened_page(browser) as (page, wrong):
        page.goto((tmp_path / "broken.html").as_uri())

        assert not [each for each in wrong if each.startswith("dialog")]
        assert [each for each in wrong if "Content Security Policy" in each]


def test_a_thousand_tables_are_paged_searched_and_sorted(
    browser: Browser, views: dict[str, str]
) -> None:
    """Broken ones among them."""
    with opened_page(browser) as (page, wrong):
        page.goto(views["overview"])
        rows = page.locator("#all tbody tr:visible")
        status = page.get_by_role("status")

        expect(rows).to_have_count(50)
        expect(status).to_have_text(f"1 to 50 of {TABLES + 1}")
        expect(rows.first).to_contain_text("a.gone")
        page.get_by_role("button", name="Next").click()
        expect(status).to_have_text(f"51 to 100 of {TABLES + 1}")
        page.get_by_role("searchbox").fill("t0042")
        expect(rows).to_have_count(1)
        page.get_by_role("searchbox").fill("")
        page.get_by_role("button", name="Health").click()
        page.get_by_role("button", name="Health").click()
        expect(page.locator("th[aria-sort=descending]")).to_have_text("Health")
        expect(rows.first).to_contain_text("100")
        page.get_by_role("button", name="Table", exact=True).click()
        expect(rows.nth(1)).to_contain_text("shop.t0000")
        assert wrong == []


def test_the_keyboard_reaches_and_shows_what_it_reaches(
    browser: Browser, views: dict[str, str]
) -> None:
    """The first stop skips to the content; each stop can be seen; a head sorts."""
    with opened_page(browser) as (page, _):
        page.goto(views["overview"])
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        expect(page.locator(".skip")).to_be_in_viewport()
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) == "solid"
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        stops = []
        for _ in range(8):
            page.keyboard.press("Tab")
            assert page.evaluate(outline) == "solid"
            stops.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 20)"))
        assert "Table" in stops
        page.locator("thead button").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("th[aria-sort=ascending]")).to_have_text("Table")


def test_without_scripts_every_table_is_there(browser: Browser, views: dict[str, str]) -> None:
    """And nothing that would not work."""
    with opened_page(browser, scripts=False) as (page, _):
        page.goto(views["overview"])

        expect(page.locator("#all tbody tr:visible")).to_have_count(TABLES + 1)
        expect(page.locator("button:visible, input:visible")).to_have_count(0)


def test_a_drawing_has_words_for_whoever_does_not_see_it(
    browser: Browser, views: dict[str, str]
) -> None:
    """As a screen reader is given them."""
    with opened_page(browser) as (page, _):
        page.goto(views["table"])
        images = page.get_by_role("img")

        assert images.count() == 6
        for each in images.all():
            assert "." in (each.locator("desc").text_content() or "")
            expect(each).to_have_accessible_name(
                f"{each.locator('> title').text_content()} {each.locator('> desc').text_content()}"
            )
        for name in ("banner", "main", "contentinfo", "navigation"):
            expect(page.get_by_role(name)).to_have_count(1)
