"""A REST catalog, Iceberg's own in Java: every verb, its round trips, and answers that are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

import arctic
from arctic.errors import CommitStateUnknownError, ConflictError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.tables import schema_sync
from arctic.iceberg.tables.open_table import open_table
from tests.catalogs.both_stores import CHECKS, Before, Places, check_upsert_after_overwrite
from tests.catalogs.one_batch import check_a_batch_of_two_tables
from tests.catalogs.rest_server import Door, opened_door
from tests.catalogs.verbs import (
    SCHEMA,
    pairs,
    rows_of,
    use_every_verb,
)
from tests.catalogs.writers import check_writers
from tests.java.plain_java import running_java


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Start the catalog."""
    with running_java() as jvm, opened_door(jvm, tmp_path_factory.mktemp("rest")) as door:
        yield door


@pytest.fixture
def door(server: Door) -> Iterator[Door]:
    """Return the catalog, empty again after the test."""
    server.asked.clear()
    yield server
    server.answers, server.reaches, server.before_commits = [], True, []
    server.takes_several = True
    for name in arctic.list_tables(catalog=server.catalog):
        arctic.drop_table(name, purge=True, catalog=server.catalog)


def test_every_verb_works(door: Door) -> None:
    """From the first table to the last, rows are those of a dict."""
    use_every_verb(door.catalog)


def test_branches_are_written_beside_the_table(door: Door) -> None:
    """Of two commits with the same number the later one is made anew, on whichever branch."""
    table = arctic.create_table("db.b", SCHEMA, catalog=door.catalog)
    table.write(rows_of(range(2), "Rome"))
    table.create_branch("x")
    door.before_commits.append(lambda: table.write(rows_of(range(2, 4), "Oslo")))
    branch = arctic.open_table("db.b.branch_x", catalog=door.catalog)
    branch.write(rows_of(range(4, 5), "Lima"))
    branch.delete("id = 0")

    assert sorted(branch.read().read_all()["id"].to_pylist()) == [1, 4]
    assert sorted(table.read().read_all()["id"].to_pylist()) == [0, 1, 2, 3]
    numbers = table.inspect("snapshots")["sequence_number"].to_pylist()
    assert sorted(numbers) == [1, 2, 3, 4]
    table.drop_branch("x")
    assert [each.name for each in table.branches()] == ["main"]


@pytest.mark.parametrize("key", [[], ["id"]], ids=["plain", "keyed"])
def test_a_restore_is_refused_of_what_expires_in_the_moment_of_its_commit(
    door: Door, key: list[str]
) -> None:
    """The server is asked for nothing that is there no more, and no name stays of the asking."""
    table = arctic.create_table("db.t", SCHEMA, primary_key=key, catalog=door.catalog)
    for first in (0, 2):
        table.write(rows_of(range(first, first + 2), "Rome"), mode="overwrite")
    at_once = {"snapshot.keep.duration": "0", "clean-orphan-file.enabled": "false"}
    door.before_commits.append(lambda: table.expire(options=at_once))

    with pytest.raises(NotFoundError, match="which is to come back, has expired"):
        table.restore(1)

    assert sorted(table.read().read_all()["id"].to_pylist()) == [2, 3]
    table.write(rows_of(range(4, 5), "Lima"), mode="overwrite")
    table.restore(2)
    assert sorted(table.read().read_all()["id"].to_pylist()) == [2, 3]
    with closing(load_catalog("plain", **door.catalog)) as catalog:
        assert list(catalog.load_table("db.t").metadata.refs) == ["main"]


def make(door: Door, **properties: str) -> None:
    """Create ``db.t``, with rows in both of its stores."""
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in properties.items()}
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], properties=named, catalog=door.catalog)
    arctic.write("db.t", rows_of(range(9), "Rome"), mode="overwrite", catalog=door.catalog)
    arctic.write("db.t", rows_of(range(4), "Oslo"), mode="upsert", catalog=door.catalog)
    door.asked.clear()


def test_an_upsert_costs_two_loads_of_each_store_and_one_commit(door: Door) -> None:
    """Over the wire, as the server sees it; a read is one load of each store."""
    make(door)
    arctic.write("db.t", rows_of(range(2), "Lima"), mode="upsert", catalog=door.catalog)
    assert door.asked == {"load db.t": 2, "load db.t_change_": 2, "commit db.t_change_": 1}

    door.asked.clear()
    arctic.read("db.t", catalog=door.catalog).read_all()
    assert door.asked == {"load db.t": 1, "load db.t_change_": 1}


def test_a_client_without_the_token_is_refused(door: Door) -> None:
    """And no message says what it gave."""
    catalog = {**door.catalog, "token": "wrong-sesame"}
    with pytest.raises(arctic.StorageError) as caught:
        arctic.list_tables(catalog=catalog)

    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("reaches", [True, False], ids=["made", "not made"])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_answer_that_is_lost_is_looked_for(door: Door, status: int, reaches: bool) -> None:
    """Whether the commit was made or not, it is there once afterwards."""
    make(door)
    before = arctic.read("db.t.snapshots", catalog=door.catalog).read_all().num_rows
    door.answers, door.reaches = [status, None], reaches
    arctic.write("db.t", rows_of(range(3, 12), "Lima"), mode="upsert", catalog=door.catalog)

    assert arctic.read("db.t.snapshots", catalog=door.catalog).read_all().num_rows == before + 1
    assert pairs(arctic.read("db.t", catalog=door.catalog).read_all()) == [
        *((each, "Oslo") for each in range(3)),
        *((each, "Lima") for each in range(3, 12)),
    ]
    assert door.asked["commit db.t_change_"] == (1 if reaches else 2)


@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    door: Door, check: Callable[[Places, Before], None]
) -> None:
    """In one request, to which the other store belongs."""
    places = Places(door.catalog)
    door.asked.clear()
    check(places, lambda other: door.before_commits.append(other))

    assert any(each.startswith("commit db.p ") or " db.p " in each for each in door.asked)


@pytest.mark.parametrize("takes_several", [True, False], ids=["one request", "one by one"])
def test_tables_of_a_batch_are_one_commit(door: Door, takes_several: bool) -> None:
    """Where the server takes several tables in a request; elsewhere one comes after the other."""
    door.takes_several = takes_several
    check_a_batch_of_two_tables(door.catalog, lambda other: door.before_commits.append(other))

    together = [each for each in door.asked if "db.one" in each and "db.two" in each]
    assert bool(together) == takes_several


def test_a_commit_of_both_stores_is_one_request(door: Door) -> None:
    """The one that stays stands first; nothing is asked for the other alone."""
    places = Places(door.catalog)
    door.asked.clear()
    check_upsert_after_overwrite(places, lambda other: door.before_commits.append(other))

    assert door.asked["commit db.p db.p_change_"] == 2
    assert door.asked["commit db.p_change_"] == 0


@pytest.mark.parametrize("reaches", [True, False], ids=["made", "not made"])
@pytest.mark.parametrize("status", [500, 503])
def test_a_lost_answer_to_a_commit_of_both_stores_is_looked_for(
    door: Door, status: int, reaches: bool
) -> None:
    """It is there once afterwards."""
    places = Places(door.catalog)
    door.asked.clear()
    door.answers, door.reaches = [status, None], reaches
    places.put("upsert", [(1, "Lima"), (3, "Oslo")])

    assert places.rows == [(1, "Lima"), (2, "Rome"), (3, "Oslo")]
    assert arctic.read("db.p.snapshots", catalog=door.catalog).read_all().num_rows == 2
    assert door.asked["commit db.p db.p_change_"] == (1 if reaches else 2)


def test_a_yes_that_did_nothing_is_a_lost_race(door: Door) -> None:
    """Iceberg's own server says so where somebody was faster while it committed."""
    places = Places(door.catalog)
    door.asked.clear()
    door.answers, door.reaches = [204, None], False
    places.put("upsert", [(1, "Lima")])

    assert places.rows == [(1, "Lima"), (2, "Rome")]


@pytest.mark.parametrize("takes_several", [True, False], ids=["both stores", "one store"])
def test_an_upsert_of_rows_that_may_move_costs_one_more_look(
    door: Door, takes_several: bool
) -> None:
    """At what a commit of both did, whose answer tells nothing; else at base, right before."""
    door.takes_several = takes_several
    places = Places(door.catalog)
    door.asked.clear()
    places.put("upsert", [(1, "Lima")])

    if takes_several:
        both = "commit db.p db.p_change_"
        assert door.asked == {"load db.p": 2, "load db.p_change_": 3, both: 1}
    else:
        assert door.asked == {"load db.p": 3, "load db.p_change_": 2, "commit db.p_change_": 1}


def test_a_catalog_that_commits_one_table_at_a_time_is_asked_so(door: Door) -> None:
    """Every verb works without the endpoint, and the stores are compared before the commit."""
    door.takes_several = False
    places = Places(door.catalog)
    door.asked.clear()
    places.put("upsert", [(1, "Lima")])

    assert places.rows == [(1, "Lima"), (2, "Rome")]
    assert door.asked["commit db.p_change_"] == 1
    assert not [each for each in door.asked if each.startswith("commit db.p ")]


def test_lost_races_are_conflicts(door: Door) -> None:
    """A catalog that always says so keeps nothing, and the caller may write again."""
    make(door, commit__retry__num_retries="2")
    door.answers, door.reaches = [409] * 9, False
    with pytest.raises(arctic.ConflictError, match="other commits won"):
        arctic.write("db.t", rows_of(range(3), "Lima"), mode="upsert", catalog=door.catalog)

    door.answers = []
    arctic.write("db.t", rows_of(range(1), "Kyiv"), mode="upsert", catalog=door.catalog)
    assert pairs(arctic.read("db.t", catalog=door.catalog).read_all()) == [
        (0, "Kyiv"),
        *((each, "Oslo") for each in range(1, 4)),
        *((each, "Rome") for each in range(4, 9)),
    ]


def test_snapshots_that_a_client_does_not_wish_to_see_keep_their_files(door: Door) -> None:
    """Metadata may come without those that no branch ends in; cleaning must know them."""
    make(door)
    arctic.optimize("db.t", type="full", catalog=door.catalog)
    refs = {**door.catalog, "snapshot-loading-mode": "refs"}
    arctic.write("db.t", rows_of(range(2), "Lima"), mode="upsert", catalog=refs)
    at_once = {"clean-orphan-file.min-existing-time-minutes": "0"}
    arctic.expire("db.t", options=at_once, catalog=refs)

    with closing(load_catalog("plain", **door.catalog)) as plain:
        for name in ("db.t", "db.t_change_"):
            table = plain.load_table(name)
            assert len(table.snapshots()) == 2
            for snapshot in table.snapshots():
                table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    assert pairs(arctic.read("db.t", catalog=refs).read_all()) == [
        *((each, "Lima") for each in range(2)),
        *((each, "Oslo") for each in range(2, 4)),
        *((each, "Rome") for each in range(4, 9)),
    ]


@pytest.mark.slow
def test_nothing_of_eight_writers_is_lost_or_doubled(door: Door) -> None:
    """The server decides every race."""
    check_writers(door.catalog, ["c.t0", "c.t1"], writers=8, rounds=6)


def test_commits_of_threads_in_one_request_are_snapshots_of_their_own(door: Door) -> None:
    """The server takes several in one swap, and each keeps its place among them."""
    check_writers(door.catalog, ["c.t0"], writers=8, rounds=4, are_threads=True)
    assert door.asked["commit c.t0_change_"] < 8 * 4


def test_files_are_opened_as_the_catalog_says(door: Door, tmp_path: Path) -> None:
    """Properties that it hands out count in every process, above those of the client."""
    make(door)
    before = door.overrides
    door.overrides = {**before, "py-io-impl": "tests.catalogs.noted_io.NotedIO"}
    door.overrides = {**door.overrides, "noted.in": str(tmp_path / "opened")}
    try:
        found = arctic.read("db.t", catalog=door.catalog).read_all()
    finally:
        door.overrides = before

    assert found.num_rows == 9
    opened = (tmp_path / "opened").read_text().splitlines()
    assert [path for path in opened if path.endswith(".parquet")]
    assert [path for path in opened if path.endswith(".avro")]


def half_done(door: Door) -> list[str]:
    """Change tags, properties and columns; return which commits named one store alone."""
    make(door)
    table = arctic.open_table("db.t", catalog=door.catalog)
    table.tag("then")
    table.set_properties({"read.cache": "memory"})
    arctic.evolve_schema(
        "db.t", add={"paid": pa.bool_()}, rename={"city": "town"}, catalog=door.catalog
    )
    table = arctic.open_table("db.t", catalog=door.catalog)
    assert [tag.name for tag in table.tags()] == ["then"]
    assert table.schema.names == ["id", "town", "paid"]
    table.drop_tag("then")
    with closing(load_catalog("plain", **door.catalog)) as plain:
        for name in ("db.t", "db.t_change_"):
            store = plain.load_table(name)
            assert store.schema().column_names == ["id", "town", "paid"]
            assert store.properties["read.cache"] == "memory"
            assert set(store.metadata.refs) == {"main"}
    commits = [each.removeprefix("commit ") for each in door.asked if each.startswith("commit ")]
    return sorted(each for each in commits if " " not in each)


def test_tags_properties_and_columns_of_both_stores_change_at_once(door: Door) -> None:
    """Nobody finds one store with them and the other without."""
    assert half_done(door) == []
    assert door.asked["commit db.t db.t_change_"] == 3
    assert door.asked["commit db.t_change_ db.t"] == 1


def test_of_two_who_finish_a_window_the_second_is_told(door: Door) -> None:
    """Though the catalog compares no properties: who finishes one looks at the table again."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    of_time = {"table.event-time-field": "at"}
    arctic.create_table("db.t", schema, primary_key="id", properties=of_time, catalog=door.catalog)
    noon = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
    rows = pa.table([[1], [noon + timedelta(minutes=25)]], schema=schema)
    arctic.write("db.t", rows, mode="upsert", catalog=door.catalog)
    one, other = (
        arctic.windows("db.t", "10min", consumer="r", start=noon, catalog=door.catalog)
        for _ in range(2)
    )
    assert [next(one).begin, next(other).begin] == [noon, noon]
    assert next(one).begin == noon + timedelta(minutes=10)
    with pytest.raises(ConflictError, match="windows of 'r' in table"):
        next(other)


def test_they_change_one_after_the_other_where_the_catalog_takes_one_table(door: Door) -> None:
    """And come out the same."""
    door.takes_several = False
    assert half_done(door) == ["db.t", "db.t_change_"]


@pytest.mark.parametrize("status", [409, 204])
def test_changes_of_both_stores_are_made_again_after_a_lost_race(door: Door, status: int) -> None:
    """Also after a yes that did nothing."""
    make(door)
    door.answers, door.reaches = [status, None] * 3, False
    table = arctic.open_table("db.t", catalog=door.catalog)
    table.tag("then")
    table.set_properties({"read.cache": "memory"})
    arctic.evolve_schema("db.t", add={"paid": pa.bool_()}, catalog=door.catalog)

    assert [tag.name for tag in table.tags()] == ["then"]
    assert arctic.open_table("db.t", catalog=door.catalog).schema.names == ["id", "city", "paid"]
    assert door.answers == []


def test_columns_are_not_changed_twice_where_others_change_them_next(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the yes of the catalog and the look whether it was true."""
    make(door)
    evolve = partial(arctic.evolve_schema, "db.t", catalog=door.catalog)
    evolve(add={"town": pa.string()})
    coming: list[str] = []

    def late(store: Table) -> Table:
        if coming:
            evolve(add={coming.pop(): pa.int64()})
        return refresh(store)

    monkeypatch.setattr(schema_sync, "refresh", late)
    swap = {"city": "town", "town": "city"}
    coming.append("a")
    assert evolve(rename=swap).schema.names == ["id", "town", "city", "a"]
    coming.append("b")
    assert evolve(drop=["a"], add={"a": pa.string()}).schema.names == [
        "id", "town", "city", "a", "b"
    ]  # fmt: skip
    evolve(rename=swap)
    coming.append("c")
    with pytest.raises(CommitStateUnknownError, match="look at them"):
        evolve(rename=swap)
    names = arctic.open_table("db.t", catalog=door.catalog).schema.names
    assert names == ["id", "town", "city", "a", "b", "c"]


def test_a_store_that_refuses_new_keys_too_is_asked_about_once(door: Door) -> None:
    """Whoever may not delete files is refused for each of them, whatever the keys."""
    make(door)
    door.vended = [{"prefix": "file:", "config": {"s3.access-key-id": "reader"}}]
    given = {f"catalog.{name}": text for name, text in door.catalog.items()}
    opened = open_table(CatalogConfig.from_options(given), "db.t")
    path = f"{opened.base.location()}/data/1.parquet"
    keys = opened.io.keys
    assert keys is not None
    tried = keys.properties(path)
    door.asked.clear()

    assert [keys.renewed(path, tried) for _ in range(5)] == [None] * 5
    assert door.asked["load db.t"] == 1
