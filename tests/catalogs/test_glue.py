"""Glue as a catalog: every verb, eight writers, answers that are lost, and both stores compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyiceberg.catalog.glue import GlueCatalog

import arctic
from benchmarks.requests.object_store import (
    ACCESS_KEY,
    BUCKET,
    REGION,
    SECRET_KEY,
    object_store,
)
from tests.catalogs.both_stores import CHECKS, Before, Places, before_commits
from tests.catalogs.glue_server import MADE, UNMADE
from tests.catalogs.verbs import (
    SCHEMA,
    adopt_and_release,
    pairs,
    publish_and_rename,
    rows_of,
    write_and_merge,
)
from tests.catalogs.writers import check_writers


@pytest.fixture(scope="module")
def glue() -> Iterator[dict[str, str]]:
    """Start a catalog, and return its properties."""
    with object_store("tests.catalogs.glue_server") as store:
        yield {
            "type": "glue",
            "warehouse": f"s3://{BUCKET}/glue",
            "glue.endpoint": store.endpoint,
            "client.region": REGION,
            "client.access-key-id": ACCESS_KEY,
            "client.secret-access-key": SECRET_KEY,
            "s3.endpoint": store.endpoint,
        }


@pytest.mark.slow
def test_every_verb_works(glue: dict[str, str]) -> None:
    """From the first table to the last, rows are those of a dict."""
    publish_and_rename(write_and_merge(glue))
    adopt_and_release(glue)


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


@pytest.mark.slow
def test_nothing_of_eight_writers_is_lost_or_doubled(glue: dict[str, str]) -> None:
    """The version of a table decides every race."""
    check_writers(glue, ["c.t0"], writers=8, rounds=2)
