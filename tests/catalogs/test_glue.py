"""Glue as a catalog: every verb, eight writers, answers that are lost, and both stores compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyiceberg.catalog.glue import GlueCatalog

import arctic
from arctic.iceberg.catalogs.over_http import safe_glue
from arctic.iceberg.catalogs.over_http.safe_glue import SafeGlueCatalog
from arctic.retry import RetryPolicy
from tests.catalogs.both_stores import CHECKS, Before, Places, before_commits
from tests.catalogs.glue_catalog import running_glue
from tests.catalogs.glue_server import MADE, UNMADE
from tests.catalogs.moved import KEYS, check_commit_beside
from tests.catalogs.verbs import (
    SCHEMA,
    pairs,
    rows_of,
    use_every_verb,
)
from tests.catalogs.writers import check_writers


@pytest.fixture(scope="module")
def glue() -> Iterator[dict[str, str]]:
    """Start a catalog, and return its properties."""
    with running_glue() as catalog:
        yield catalog


@pytest.mark.slow
def test_every_verb_works(glue: dict[str, str]) -> None:
    """From the first table to the last, rows are those of a dict."""
    use_every_verb(glue)


@pytest.mark.parametrize("database", [MADE, UNMADE])
def test_an_answer_that_is_lost_is_looked_for(glue: dict[str, str], database: str) -> None:
    """AWS's client asks again, and is told of a conflict with itself; a commit is there once."""
    name = f"{database}.t"
    arctic.create_table(name, SCHEMA, catalog=glue)
    for number in range(2):
        arctic.write(name, rows_of(range(3 * number, 3 * number + 3), "Rome"), catalog=glue)

    found = arctic.read(name, catalog=glue).read_all()
    assert pairs(found) == [(each, "Rome") for each in range(6)]
    assert arctic.read(f"{name}.snapshots", catalog=glue).read_all().num_rows == 2

    arctic.rename(name, f"{database}.renamed", catalog=glue)
    assert arctic.list_tables(catalog=glue) == [f"{database}.renamed"]
    assert pairs(arctic.read(f"{database}.renamed", catalog=glue).read_all()) == pairs(found)
    arctic.drop_table(f"{database}.renamed", catalog=glue)


@pytest.mark.parametrize("passing", [0, 1], ids=["before the mark", "after the mark"])
@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    glue: dict[str, str],
    check: Callable[[Places, Before], None],
    passing: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though Glue compares one table at a time: whatever lands before either commit is seen."""
    with Places(glue) as places:
        check(places, before_commits(GlueCatalog, monkeypatch, passing=passing))


@pytest.mark.parametrize("commits", [1, 3], ids=["once", "without a pause"])
def test_a_rename_loses_no_commit(
    glue: dict[str, str], monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """What lands between its look at the table and the end of its first entry goes along."""
    arctic.create_table("shop.old", SCHEMA, primary_key=(), catalog=glue)
    arctic.write("shop.old", rows_of(range(1), "Rome"), catalog=glue)
    end, landed = SafeGlueCatalog._ends, [0]

    def end_late(catalog: SafeGlueCatalog, names: tuple[str, str], seen: Any) -> bool:
        if names[1] == "old" and landed[0] < commits:
            landed[0] += 1
            arctic.write("shop.old", rows_of(range(landed[0], landed[0] + 1), "Rome"), catalog=glue)
        return end(catalog, names, seen)

    monkeypatch.setattr(SafeGlueCatalog, "_ends", end_late)
    monkeypatch.setattr(safe_glue, "SMALL_RACES", RetryPolicy(retries=2))
    name = "shop.new" if commits == 1 else "shop.old"
    if commits == 1:
        arctic.rename("shop.old", "shop.new", catalog=glue)
    else:
        with pytest.raises(arctic.ConflictError, match="again and again"):
            arctic.rename("shop.old", "shop.new", catalog=glue)

    assert arctic.list_tables(catalog=glue) == [name]
    found = arctic.read(name, catalog=glue).read_all()
    arctic.drop_table(name, purge=True, catalog=glue)
    assert pairs(found) == [(each, "Rome") for each in range(landed[0] + 1)]


@pytest.mark.parametrize("key", KEYS, ids=["without a key", "with a key"])
def test_a_commit_undoes_no_rename_and_no_drop(
    glue: dict[str, str], monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    """It knows the version of an entry that is no table any more, or of another one."""
    check_commit_beside(glue, monkeypatch, key)


@pytest.mark.slow
def test_nothing_of_eight_writers_is_lost_or_doubled(glue: dict[str, str]) -> None:
    """The version of a table decides every race."""
    check_writers(glue, ["c.t0"], writers=8, rounds=2)
