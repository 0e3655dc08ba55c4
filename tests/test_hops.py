"""What one small write and one read pass through, as ``make house`` counts it."""

from __future__ import annotations

import pytest

from tests.hops import Hops, measure
from tests.house import PAGE

MOST_FILES = {"an upsert": 98, "an upsert of Spark": 95, "a read": 101}
"""As many as there are today: what grows is looked at first."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Hops]:
    """What was counted."""
    return measure(str(tmp_path_factory.mktemp("hops")))


def test_a_write_opens_its_table_once_and_looks_once_more(found: dict[str, Hops]) -> None:
    """Its commit does, and nobody in between; a read only opens."""
    for title in ("an upsert", "an upsert of Spark"):
        counts = {what: found[title].count(what) for what in ("opens", "pins", "refreshes")}
        assert counts == {"opens": 1, "pins": 1, "refreshes": 0}
        assert found[title].count("looks before a commit") == 1
    assert found["a read"].count("opens") == 1
    assert found["a read"].count("refreshes") == 0
    assert all("option reads" in hops.text(title) for title, hops in found.items())


def test_the_architecture_page_tells_these_numbers(found: dict[str, Hops]) -> None:
    """Of the files those of the check below; of the rest what was counted."""
    page = PAGE.read_text(encoding="utf-8")
    for title, most in MOST_FILES.items():
        what = ("opens", "loads", "refreshes")
        assert f"| {most}; {', '.join(str(found[title].count(each)) for each in what)}, " in page


@pytest.mark.parametrize("title", MOST_FILES)
def test_no_more_files_are_passed_than_today(found: dict[str, Hops], title: str) -> None:
    """Whoever follows one call reads them all; ``python -m tests.hops --files`` lists them."""
    assert len(found[title].files) <= MOST_FILES[title]
