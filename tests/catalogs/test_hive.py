"""Hive's metastore as a catalog, by real ones of three releases."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hive_metastore.ttypes import LockState, ShowLocksRequest, UnlockRequest
from pyiceberg.catalog.hive import HiveCatalog

import arctic
from arctic.iceberg.catalogs import staged_metadata
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.over_thrift import safe_hive
from arctic.iceberg.catalogs.over_thrift.safe_hive import SOCKET_TIMEOUT, SafeHiveCatalog
from arctic.iceberg.storage.many_snapshots import write_metadata
from arctic.job.write.replace_table import find_replaced, replace_table
from tests.catalogs.both_stores import CHECKS, Before, Places, before_commits
from tests.catalogs.hive_server import running_metastore
from tests.catalogs.refused_lock import check_refused_lock
from tests.catalogs.verbs import (
    SCHEMA,
    pairs,
    rows_of,
    use_every_verb,
)
from tests.catalogs.writers import check_writers

_QUICK = {"lock-check-min-wait-time": "0.05", "lock-check-retries": "2"}
only_3 = pytest.mark.parametrize("hive", ["3.1"], indirect=True)
"""What no release does otherwise is tried with the one that compares least."""


@pytest.fixture(scope="module", params=["2.3", "3.1"])
def hive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Start a metastore that PyIceberg works with, and return the properties of its catalog."""
    with running_metastore(request.param, tmp_path_factory.mktemp("hive")) as catalog:
        yield catalog


@pytest.mark.slow
def test_every_verb_works(hive: dict[str, str]) -> None:
    """From the first table to the last, rows are those of a dict."""
    use_every_verb(hive)


@pytest.mark.slow
def test_nothing_of_eight_writers_is_lost_or_doubled(hive: dict[str, str]) -> None:
    """A lock of the metastore decides every race."""
    check_writers(hive, ["c.t0"], writers=8, rounds=1)


@only_3
@pytest.mark.parametrize("passing", [0, 1], ids=["before the mark", "after the mark"])
@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    hive: dict[str, str],
    check: Callable[[Places, Before], None],
    passing: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though Hive compares one table at a time: whatever lands before either commit is seen."""
    with Places(hive) as places:
        check(places, before_commits(SafeHiveCatalog, monkeypatch, passing=passing))


@contextmanager
def held(catalog: dict[str, str], database: str, name: str) -> Iterator[int]:
    """Hold the lock of a table, as a writer that dies while it commits leaves it behind."""
    plain = HiveCatalog("plain", **catalog)
    with plain._client as metastore:
        lock = metastore.lock(plain._create_lock_request(database, name))
        assert lock.state == LockState.ACQUIRED
        yield lock.lockid
        metastore.unlock(UnlockRequest(lockid=lock.lockid))


@only_3
def test_a_lock_that_is_not_to_be_had_is_a_conflict(hive: dict[str, str]) -> None:
    """Nobody can have committed without it, so the outcome is known."""
    locked = held(hive, "shop", "t_change_")
    folder = Path(hive["warehouse"].removeprefix("file://"))
    check_refused_lock({**hive, **_QUICK}, folder, locked=locked, retries=1)


@only_3
def test_the_error_says_what_holds_it(hive: dict[str, str]) -> None:
    """A lock whose holder has died is somebody's to wait for."""
    arctic.create_table("db.held", SCHEMA, catalog=hive)
    quick = {**hive, **_QUICK, "lock-check-retries": "1"}
    arctic.open_table("db.held", catalog=hive).set_properties({"commit.retry.num-retries": "0"})
    said = r"gave lock \d+ on db\.held to others; .* after hive\.txn\.timeout"
    with held(hive, "db", "held"), pytest.raises(arctic.ConflictError, match=said):
        arctic.write("db.held", rows_of(range(1), "Rome"), catalog=quick)


def locks_of(catalog: dict[str, str]) -> list[int]:
    """Return the numbers of all locks that somebody has or waits for."""
    with HiveCatalog("plain", **catalog)._client as metastore:
        return [lock.lockid for lock in metastore.show_locks(ShowLocksRequest()).locks]


def end_locks(catalog: dict[str, str]) -> None:
    """Take back every lock, as a metastore does whose holders show no sign of life."""
    with HiveCatalog("plain", **catalog)._client as metastore:
        for lock in locks_of(catalog):
            metastore.unlock(UnlockRequest(lockid=lock))


def write_where_the_lock_ends(hive: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop while a commit holds its lock, until it is another's; both of them must be there."""
    arctic.create_table("db.slow", SCHEMA, catalog=hive)
    coming = [rows_of(range(3, 6), "Oslo")]

    def write_slowly(*given: Any) -> None:
        write_metadata(*given)
        if coming:
            end_locks(hive)
            arctic.write("db.slow", coming.pop(), catalog=hive)

    monkeypatch.setattr(staged_metadata, "write_metadata", write_slowly)
    arctic.write("db.slow", rows_of(range(3), "Rome"), catalog=hive)

    found = arctic.read("db.slow", catalog=hive).read_all()
    arctic.drop_table("db.slow", purge=True, catalog=hive)
    assert pairs(found) == [(each, "Rome" if each < 3 else "Oslo") for each in range(6)]


def test_who_outlived_its_lock_does_not_undo_another(
    hive: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock is looked for right before the table is altered."""
    write_where_the_lock_ends(hive, monkeypatch)


@pytest.mark.parametrize("hive", ["2.3"], indirect=True)
def test_a_metastore_that_compares_needs_no_lock(
    hive: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses to alter a table that was altered since, even between that look and the change."""
    monkeypatch.setattr(safe_hive._Metastore, "heartbeat", lambda *_: None)
    write_where_the_lock_ends(hive, monkeypatch)


@only_3
@pytest.mark.parametrize("key", [(), ("id",)], ids=["without a key", "with a key"])
def test_a_rename_undoes_no_commit(
    hive: dict[str, str], monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    """Who commits between its look at the table and the change waits for its lock."""
    arctic.create_table("db.moving", SCHEMA, primary_key=key, catalog=hive)
    arctic.write("db.moving", rows_of(range(3), "Rome"), catalog=hive)
    alter = safe_hive._Metastore.alter_table_with_environment_context
    said: list[Exception] = []

    def write() -> None:
        with pytest.raises(arctic.ConflictError) as refused:
            arctic.write("db.moving", rows_of(range(3, 6), "Oslo"), catalog={**hive, **_QUICK})
        said.append(refused.value)

    def alter_slowly(metastore: Any, dbname: str, tbl_name: str, *given: Any, **named: Any) -> None:
        if named["new_tbl"].tableName != tbl_name and not said:
            with ThreadPoolExecutor(1) as other:
                other.submit(write).result()
        alter(metastore, dbname, tbl_name, *given, **named)

    monkeypatch.setattr(safe_hive._Metastore, "alter_table_with_environment_context", alter_slowly)
    arctic.rename("db.moving", "db.moved", catalog=hive)

    found = arctic.read("db.moved", catalog=hive).read_all()
    arctic.drop_table("db.moved", purge=True, catalog=hive)
    assert said
    assert pairs(found) == [(each, "Rome") for each in range(3)]


@only_3
def test_a_commit_undoes_no_replacement(
    hive: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that gets the name of one that is committed to waits for the lock of that."""
    for name, city in (("db.old", "Rome"), ("db.staged", "Oslo")):
        arctic.create_table(name, SCHEMA, primary_key=(), catalog=hive)
        arctic.write(name, rows_of(range(3), city), catalog=hive)
    options = {f"catalog.{key}": text for key, text in {**hive, **_QUICK}.items()}
    config = CatalogConfig.from_options(options)
    before = find_replaced(config, "db.old")
    refused: list[Exception] = []

    def write_slowly(*given: Any) -> None:
        write_metadata(*given)
        if not refused:
            with pytest.raises(arctic.ConflictError, match="rename it again") as caught:
                replace_table(config, "db.staged", "db.old", before)
            refused.append(caught.value)

    monkeypatch.setattr(staged_metadata, "write_metadata", write_slowly)
    arctic.write("db.old", rows_of(range(3, 6), "Rome"), catalog=hive)

    found = {name: arctic.read(name, catalog=hive).read_all() for name in ("db.old", "db.staged")}
    for name in found:
        arctic.drop_table(name, purge=True, catalog=hive)
    assert refused
    assert pairs(found["db.old"]) == [(each, "Rome") for each in range(6)]
    assert pairs(found["db.staged"]) == [(each, "Oslo") for each in range(3)]


@only_3
def test_a_commit_undoes_no_drop(hive: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A drop waits for the lock of a commit, so a table that is made anew is not altered by it."""
    arctic.create_table("db.old", SCHEMA, primary_key=(), catalog=hive)
    arctic.write("db.old", rows_of(range(3), "Rome"), catalog=hive)
    refused: list[Exception] = []

    def write_slowly(*given: Any) -> None:
        write_metadata(*given)
        if not refused:
            with pytest.raises(arctic.ConflictError, match="drop it again") as caught:
                arctic.drop_table("db.old", catalog={**hive, **_QUICK})
            refused.append(caught.value)

    monkeypatch.setattr(staged_metadata, "write_metadata", write_slowly)
    arctic.write("db.old", rows_of(range(3, 6), "Rome"), catalog=hive)

    found = arctic.read("db.old", catalog=hive).read_all()
    arctic.drop_table("db.old", purge=True, catalog=hive)
    assert refused
    assert pairs(found) == [(each, "Rome") for each in range(6)]
    assert locks_of(hive) == []


@only_3
@pytest.mark.parametrize(
    ("call", "verb"),
    [
        (partial(arctic.rename, "db.kept", "db.moved"), "alter_table_with_environment_context"),
        (partial(arctic.drop_table, "db.kept"), "drop_table"),
    ],
    ids=["rename", "drop"],
)
def test_who_outlived_its_lock_neither_renames_nor_drops(
    hive: dict[str, str], monkeypatch: pytest.MonkeyPatch, call: Callable[..., object], verb: str
) -> None:
    """A rename and a drop look for their lock as well, right before the change."""
    arctic.create_table("db.kept", SCHEMA, primary_key=(), catalog=hive)
    arctic.write("db.kept", rows_of(range(3), "Rome"), catalog=hive)
    change = getattr(safe_hive._Metastore, verb)

    def change_late(metastore: Any, *given: Any, **named: Any) -> None:
        end_locks(hive)
        change(metastore, *given, **named)

    with monkeypatch.context() as late:
        late.setattr(safe_hive._Metastore, verb, change_late)
        with pytest.raises(arctic.ConflictError, match="took the lock back"):
            call(catalog=hive)

    assert pairs(arctic.read("db.kept", catalog=hive).read_all()) == [(n, "Rome") for n in range(3)]
    arctic.drop_table("db.kept", purge=True, catalog=hive)


@pytest.mark.parametrize("hive", ["2.3"], indirect=True)
def test_a_property_is_as_long_as_the_copy_of_it_may_be(hive: dict[str, str]) -> None:
    """What Arctic keeps in one is kept in a file where it would be longer."""
    table = arctic.create_table("db.noted", SCHEMA, catalog=hive)
    longest = "x" * SafeHiveCatalog.property_bytes
    table.set_properties({"note": longest})
    assert arctic.open_table("db.noted", catalog=hive).properties["note"] == longest
    with pytest.raises(arctic.StorageError):
        table.set_properties({"note": longest + "x" * 700})


@only_3
def test_threads_may_share_a_table(hive: dict[str, str]) -> None:
    """Each asks in a session of its own: none is given what another one asked for."""
    names = [f"db.of_{number}" for number in range(4)]
    for name in names:
        arctic.create_table(name, SCHEMA, catalog=hive)
    catalog = open_catalog(
        CatalogConfig.from_options({f"catalog.{key}": text for key, text in hive.items()})
    )
    with ThreadPoolExecutor(4) as threads:
        loaded = threads.map(catalog.load_table, names * 10)
        assert [".".join(table.name()) for table in loaded] == names * 10


@only_3
def test_a_metastore_that_is_down_is_passed_over(hive: dict[str, str]) -> None:
    """Where the catalog names several."""
    first_down = {**hive, "uri": f"thrift://127.0.0.1:1,{hive['uri']}"}
    assert arctic.list_tables(catalog=first_down) == arctic.list_tables(catalog=hive)


def test_a_metastore_that_does_not_answer_is_given_up() -> None:
    """After a time that the catalog may say."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        uri = f"thrift://127.0.0.1:{silent.getsockname()[1]}"
        hanging = {"type": "hive", "uri": uri, SOCKET_TIMEOUT: "50ms"}
        with pytest.raises(arctic.StorageError, match=r"within 0\.05 seconds;.*socket\.timeout"):
            arctic.open_table("shop.t", catalog=hanging)
        with pytest.raises(arctic.InvalidInputError, match="'soon'; expected a time above 0"):
            arctic.open_table("shop.t", catalog={**hanging, SOCKET_TIMEOUT: "soon"})


def test_a_metastore_that_is_too_new_is_named(tmp_path: Path) -> None:
    """What it says alone, an unknown function, helps nobody."""
    with running_metastore("4.0", tmp_path) as catalog:
        said = r"'get_table' in Hive 4\.0.*: Hive 4\.0\.1 and newer .*expected 2\.3 to 4\.0\.0"
        with pytest.raises(arctic.UnsupportedError, match=said):
            arctic.open_table("default.users", catalog=catalog)
