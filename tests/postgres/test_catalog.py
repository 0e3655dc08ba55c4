"""PostgreSQL as the catalog: every verb, many writers, and commits that the server refuses."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import Pool, event

import arctic
from tests.catalogs.both_stores import CHECKS, Before, Places, before_commits_in_sql
from tests.catalogs.moved import KEYS, check_commit_beside
from tests.catalogs.one_batch import check_one_transaction
from tests.catalogs.refused_lock import check_refused_lock
from tests.catalogs.verbs import (
    SCHEMA,
    pairs,
    rows_of,
    use_every_verb,
)
from tests.catalogs.writers import check_writers

Catalog = dict[str, str]
KEY = {"primaryKey": "id"}


@pytest.fixture
def catalog(dsn: str, tmp_path: Path) -> Catalog:
    """Return a catalog in a database of its own."""
    return catalog_of(dsn, tmp_path)


def catalog_of(dsn: str, folder: Path, settings: str = "") -> Catalog:
    """Return a catalog in a database; ``settings`` are those of its sessions."""
    named = dict(re.findall(r"(\w+)=(\S+)", dsn))
    uri = f"postgresql+psycopg://{named['user']}@/{named['dbname']}?host={named['host']}"
    given = f"&options=-c%20{settings}" if settings else ""
    return {"type": "sql", "uri": f"{uri}{given}", "warehouse": f"file://{folder}"}


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection]:
    """Open a session beside those of the catalog."""
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def test_every_verb_works(catalog: Catalog) -> None:
    """From the first table to the last, rows are those of a dict."""
    use_every_verb(catalog)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "settings"),
    [
        pytest.param(["c.t"], "", id="one table"),
        # The server then ends lost races by an error of its own.
        pytest.param(
            ["c.t0", "c.t1", "c.t2"],
            "default_transaction_isolation=serializable",
            id="several, serializable",
        ),
    ],
)
def test_nothing_of_eight_writers_is_lost_or_doubled(
    dsn: str, tmp_path: Path, tables: list[str], settings: str
) -> None:
    """Whoever loses a race writes again."""
    check_writers(catalog_of(dsn, tmp_path, settings), tables, writers=8, rounds=6)


@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    catalog: Catalog, check: Callable[[Places, Before], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction, which the other row is locked for."""
    check(Places(catalog), before_commits_in_sql(monkeypatch))


@pytest.mark.parametrize("key", KEYS, ids=["without a key", "with a key"])
def test_a_commit_undoes_no_rename_and_no_drop(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    """The row of a table has another name by then, or names other metadata."""
    check_commit_beside(catalog, monkeypatch, key)


def test_tables_of_a_batch_become_visible_together(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction."""
    check_one_transaction(catalog, monkeypatch)


def test_a_refused_lock_is_a_lost_race(
    dsn: str, tmp_path: Path, connection: psycopg.Connection
) -> None:
    """The server took the commit back, so it is known not to have landed: write again."""

    @contextmanager
    def locked() -> Iterator[None]:
        with connection.transaction():
            connection.execute("SELECT * FROM iceberg_tables FOR UPDATE")
            yield

    catalog = catalog_of(dsn, tmp_path, "lock_timeout=50")
    check_refused_lock(catalog, tmp_path, locked=locked(), retries=2)


def test_a_server_that_dies_at_the_commit_is_asked_again(
    catalog: Catalog, connection: psycopg.Connection
) -> None:
    """Whether it landed is looked up; it is committed once."""
    arctic.create_table("shop.t", SCHEMA, primary_key=["id"], catalog=catalog)
    connection.execute(
        """
        CREATE SEQUENCE deaths;
        CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('deaths') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER dies AFTER UPDATE ON iceberg_tables
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die();
        """
    )
    arctic.write("shop.t", rows_of(range(3), "Rome"), mode="upsert", catalog=catalog)

    assert connection.execute("SELECT last_value FROM deaths").fetchone() == (2,)
    assert len(arctic.read("shop.t.snapshots", catalog=catalog).read_all()) == 1
    found = arctic.read("shop.t", catalog=catalog).read_all()
    assert pairs(found) == [(each, "Rome") for each in range(3)]


def test_a_process_keeps_one_connection_and_minds_its_end(
    catalog: Catalog, connection: psycopg.Connection
) -> None:
    """A server has few of them, ends those that rest, and a process may write for months."""
    arctic.create_table("shop.t", SCHEMA, primary_key=["id"], catalog=catalog)
    for number in range(4):
        arctic.write("shop.t", rows_of(range(number), "Rome"), mode="upsert", catalog=catalog)
        arctic.read("shop.t", catalog=catalog).read_all()
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    assert connection.execute(f"SELECT count(*) {others}").fetchone() == (1,)

    connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}")
    arctic.write("shop.t", rows_of(range(2), "Oslo"), mode="upsert", catalog=catalog)
    found = arctic.read("shop.t", catalog=catalog).read_all()
    assert pairs(found) == [(0, "Oslo"), (1, "Oslo"), (2, "Rome")]


def test_a_child_leaves_the_connections_of_its_parent(
    catalog: Catalog, connection: psycopg.Connection
) -> None:
    """Two processes that speak through one would read each other's answers."""
    arctic.create_table("shop.t", SCHEMA, primary_key=["id"], catalog=catalog)
    child = os.fork()
    if child == 0:
        try:
            arctic.write("shop.t", rows_of(range(3), "Rome"), mode="upsert", catalog=catalog)
            gc.collect()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    _wait_for_sessions(connection, 2)

    assert arctic.read("shop.t", catalog=catalog).read_all().num_rows == 3
    _wait_for_sessions(connection, 2)


def _wait_for_sessions(connection: psycopg.Connection, count: int) -> None:
    """The server sees some moments later that a process is gone."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    until = time.monotonic() + 20
    while (found := connection.execute(asked).fetchone()) != (count,):
        assert time.monotonic() < until, found
        time.sleep(0.05)


def test_threads_keep_their_sessions(catalog: Catalog) -> None:
    """To begin one costs more than to ask; more threads than sessions wait for each other."""
    arctic.create_table("shop.t", SCHEMA, primary_key=["id"], catalog=catalog)
    begun: list[object] = []
    event.listen(Pool, "connect", lambda connection, _: begun.append(connection))
    at_once = Barrier(12)

    def ask(_: int) -> int:
        at_once.wait()
        return sum(len(arctic.list_tables(catalog=catalog)) for _ in range(10))

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(ask, range(12))) == [10] * 12
        assert list(threads.map(ask, range(12))) == [10] * 12

    assert len(begun) <= 12


def test_a_folder_without_a_root_is_that_of_the_moment(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may change its working directory, as with the embedded catalog."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        here = {**catalog, "warehouse": "lake"}
        arctic.write(f"shop.{name}", rows_of(range(3), "Rome"), options=KEY, catalog=here)
        assert list((tmp_path / name / "lake").rglob("*.parquet"))
    assert arctic.read("shop.one", catalog=here).read_all().num_rows == 3
