"""The options page says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from arctic.options import OPTIONS, Option
from tests.options_table import options_page

PAGE = Path(__file__).parent.parent / "docs" / "options.md"


def test_the_options_page_is_generated_from_the_code() -> None:
    """A changed default or sentence shows up in the documentation of the same commit."""
    assert PAGE.read_text(encoding="utf-8") == options_page(), "run: make docs"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_explains_itself_in_one_sentence(option: Option[object]) -> None:
    """The page is made of these sentences, so each must stand alone."""
    assert option.doc.endswith(".")
    assert option.doc[0].isupper()
    assert "\n" not in option.doc


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_appears_once(option: Option[object]) -> None:
    """One place for every option that a user may give: the first scope it is listed under."""
    is_private = option.name.startswith("_")

    assert options_page().count(f"| `{option.name}`") == (0 if is_private else 1)


def test_no_two_options_answer_to_the_same_name() -> None:
    """Names and aliases are compared without case, so they must differ without it."""
    names = [name.lower() for option in OPTIONS for name in option.names]

    assert len(names) == len(set(names))
