"""What is asked of one of several catalogs."""

from __future__ import annotations

import pytest

from arctic.errors import InvalidInputError
from arctic.service.asked_service import AskedService
from arctic.service.catalogs.asked_catalogs import asked_of_catalogs


def test_each_catalog_has_groups_of_its_own() -> None:
    """Those that are given of all, and of it alone; and a history of its own."""
    asked = asked_of_catalogs(
        ["prod", "lake"],
        AskedService(threads=3, history="/var/history.db"),
        groups={"default": 4, "prod/etl": 2, "lake/default": 1},
        executors={"prod/etl": "process"},
    )

    assert asked["prod"].slots == {"default": 4, "etl": 2}
    assert asked["lake"].slots == {"default": 1}
    assert (asked["prod"].executor("etl"), asked["lake"].threads) == ("process", 3)
    assert asked["lake"].history == "/var/history-lake.db"


@pytest.mark.parametrize(
    ("names", "group", "said"),
    [
        (["prod", "a/b"], "default", "catalog 'a/b'; expected letters"),
        (["prod", ".."], "default", "catalog '..'; expected letters"),
        (["prod"], "dev/default", "no catalog 'dev'; expected one of prod"),
        (["prod"], "prod/a b", "group 'a b'; expected letters"),
    ],
)
def test_names_that_cannot_be_are_refused(names: list[str], group: str, said: str) -> None:
    """With what was expected."""
    with pytest.raises(InvalidInputError, match=said):
        asked_of_catalogs(names, AskedService(), groups={group: 1}, executors={})
