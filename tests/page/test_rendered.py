"""No value becomes markup, wherever it stands and whatever it holds."""

from __future__ import annotations

import base64
import builtins
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import arctic.page
from arctic.errors import UnsupportedError
from arctic.page import rendered
from arctic.page.pages import failure_page, group_page, overview_page, table_page
from arctic.page.rendered import Frame, shipped
from tests.page.made_facts import NOW_MS, hostile, hostile_queue, lake, row
from tests.page.parsed import parsed

TEMPLATES = Path(arctic.page.__path__[0]) / "templates"
FILE = Frame(home="../", is_served=False)
SERVED = Frame(home="/ui/", is_served=True)
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`&amp;--><!--{{7*7}}{% raw %}]]>"

texts = st.text(st.sampled_from("<>\"'&/=!-{}%# \n\tab\x00\x1b\ud800\u202e\U0001f9ca"), min_size=1)


def pages_of(text: str, frame: Frame) -> list[str]:
    """Return every kind of page with a text wherever one can stand."""
    catalog = lake(row(text, group=text, due=text), broken=(text,), slots=True)
    (slots,) = catalog.slots
    catalog = replace(catalog, slots=(replace(slots, name=text),))
    return [
        group_page(hostile_queue(text), NOW_MS, frame),
        table_page(hostile(text), frame, given_filter=text),
        overview_page(catalog, frame, links={text: "tables/1.html"}),
        failure_page(text, text, frame),
    ]


@pytest.mark.parametrize("frame", [FILE, SERVED], ids=["file", "served"])
@given(text=texts)
@example(text=MARKUP)
def test_a_value_never_changes_the_tags_of_a_page(frame: Frame, text: str) -> None:
    """The tags of a page, and their attributes, are those of a page with harmless values."""
    for page, harmless in zip(pages_of(text, frame), pages_of("x", frame), strict=True):
        assert parsed(page).skeleton == parsed(harmless).skeleton
        page.encode("utf-8")


@given(text=texts)
@example(text=MARKUP)
def test_a_value_is_shown_as_it_is(text: str) -> None:
    """But for what no document can hold, which is shown as such."""
    page = parsed(table_page(hostile(text), FILE))
    shown = re.sub("[\x00\x1b\ud800]", "\ufffd", text)

    assert shown in [said for tag, said in page.words if tag == "bdi"]


def test_only_what_is_shipped_is_not_escaped() -> None:
    """A second way around the escaping would have to be written into a template."""
    found = {
        path.name: len(re.findall(r"\|\s*safe|autoescape|Markup", path.read_text(encoding="utf-8")))
        for path in sorted(TEMPLATES.glob("*.html"))
    }

    assert {name: count for name, count in found.items() if count} == {"layout.html": 2}


@pytest.mark.parametrize("frame", [FILE, SERVED], ids=["file", "served"])
def test_a_page_loads_nothing_from_elsewhere(frame: Frame) -> None:
    """Addresses are of the page itself, of its neighbours, or empty."""
    for page in pages_of("x", frame):
        places = [
            value
            for name, value in parsed(page).attributes
            if name in ("href", "src", "action", "srcset", "data")
        ]
        assert places
        assert not [place for place in places if "//" in place or "\\" in place]
        assert "http" not in "".join(places)


def test_a_file_lets_only_its_own_script_and_style_run() -> None:
    """The policy names them by their digests, as a browser works them out of the page."""
    page = table_page(hostile("x"), FILE)
    policy = dict(re.findall(r"(\w+-src) ([^;\"]+)", page.replace("&#39;", "'")))

    for tag, source in (("script", "script-src"), ("style", "style-src")):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert policy[source].strip() == f"'sha256-{digest}'"
        assert f"</{tag}" not in body
    assert policy["default-src"].strip() == "'none'"


def test_a_page_has_no_style_of_its_own() -> None:
    """The policy would leave it out, and the page would not look as it was meant."""
    for page in pages_of("x", FILE):
        assert "style" not in [name for name, _ in parsed(page).attributes]
        assert not [name for name, _ in parsed(page).attributes if name.startswith("on")]


def test_every_drawing_says_what_it_shows() -> None:
    """A title and a text that its drawing refers to, each of its own name."""
    page = parsed(table_page(hostile("x"), FILE))
    names = [value for name, value in page.attributes if name == "id"]
    said = [value.split() for name, value in page.attributes if name == "aria-labelledby"]

    assert len(names) == len(set(names))
    assert {each for pair in said for each in pair} <= set(names)
    assert page.skeleton.count("svg role aria-labelledby viewbox width height") == 6
    assert all(text.strip() for text in (page.text_of("desc"), page.text_of("title")))


def test_headings_go_down_one_at_a_time() -> None:
    """One of the first kind, and none is skipped."""
    for page in pages_of("x", FILE):
        kinds = [int(tag[1]) for tag in parsed(page).skeleton if re.match(r"h[1-6]\b", tag)]
        assert kinds.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(kinds))


def test_the_shipped_files_reach_for_nothing() -> None:
    """Neither loads, evaluates nor writes markup."""
    assert not re.search(r"url\(|@import|http", shipped()["page.css"])
    assert not re.search(
        r"innerHTML|outerHTML|eval|Function\(|document\.write|http:", shipped()["page.js"]
    )


def test_without_jinja_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which extra to install."""
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *arguments, **named)

    rendered._environment.cache_clear()
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UnsupportedError, match=r"pip install '\.\[serve\]'"):
        failure_page("a", "b", FILE)


def test_a_group_in_a_peak_says_what_gives_way() -> None:
    """And by how much; one that is in none has the policy to read all the same."""
    page = overview_page(lake(slots=True), SERVED, links={})

    assert "fulls are put off, and tables rest 2.5 times as long" in page
    assert "Writers are not slowed" in page
