"""What tables ask of a service, and when they are cleaned."""

from __future__ import annotations

import pytest

from arctic.errors import InvalidInputError
from arctic.service.scheduling.refresh_queue import Refreshing
from arctic.service.scheduling.table_state import TableTerms
from arctic.service.watching.wishes import CleaningStep, Wishes
from arctic.views.view_definition import DAYS, ROWS, ViewDefinition

DAY = 86_400_000


def test_a_table_that_says_nothing_is_of_the_default_group_and_looked_after() -> None:
    """With Amoro's names for what it may say."""
    silent = Wishes.of({})
    assert (silent.group, silent.is_optimized, silent.is_cleaned) == ("default", True, True)
    assert silent.terms == TableTerms(quota=0.5, min_interval_ms=60_000)

    said = Wishes.of(
        {
            "self-optimizing.group": "etl",
            "self-optimizing.quota": "2",
            "self-optimizing.min-plan-interval": "-1",
            "self-optimizing.enabled": "false",
            "table-expire.enabled": "false",
        }
    )
    assert (said.group, said.is_optimized, said.is_cleaned) == ("etl", False, False)
    assert said.terms == TableTerms(quota=2, min_interval_ms=0)
    assert not Wishes.of({"gc.enabled": "false"}).is_cleaned


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("self-optimizing.quota", "0"),
        ("self-optimizing.group", "a b"),
        ("table-expire.enabled", "y"),
    ],
)
def test_a_property_that_says_nothing_it_can_say_is_named(name: str, text: str) -> None:
    """With its value."""
    with pytest.raises(InvalidInputError, match=f"{name} = '{text}'"):
        Wishes.of({name: text})


def test_a_table_is_cleaned_an_interval_after_the_dry_run() -> None:
    """A time from a clock that is ahead is waited for once, not for ever."""
    met = Wishes.of({})
    known = Wishes.of({"arctic.cleaned-time": str(5 * DAY)})

    assert met.cleaning(5 * DAY, every_ms=DAY) is CleaningStep.DRY_RUN
    assert known.cleaning(6 * DAY - 1, every_ms=DAY) is None
    assert known.cleaning(6 * DAY, every_ms=DAY) is CleaningStep.CLEAN
    assert known.cleaning(0, every_ms=DAY) is CleaningStep.CLEAN
    assert Wishes.of({"table-expire.enabled": "false"}).cleaning(0, every_ms=DAY) is None


@pytest.mark.parametrize("kind", [ROWS, DAYS])
def test_a_view_says_whether_it_is_of_days(kind: str) -> None:
    """One that is to be refreshed; no other says anything."""
    view = ViewDefinition(sql="SELECT 1", is_whole=False, sources=("db.t",), kind=kind)
    asked = {**view.properties, "self-refreshing.interval": "1h"}

    assert Wishes.of(view.properties).refreshing is None
    assert Wishes.of(asked).refreshing == Refreshing(
        sources=("db.t",), every_ms=DAY // 24, is_of_days=kind == DAYS
    )
