"""MariaDB as the catalog: every verb, many writers, refused commits, names that it folds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

import arctic
from tests.catalogs.both_stores import CHECKS, Before, Places, before_commits_in_sql
from tests.catalogs.moved import KEYS, check_commit_beside
from tests.catalogs.one_batch import check_one_transaction
from tests.catalogs.refused_lock import check_refused_lock
from tests.catalogs.verbs import SCHEMA, use_every_verb
from tests.catalogs.writers import check_writers

Catalog = dict[str, str]
_numbers = itertools.count()


@pytest.fixture
def connection(socket: Path) -> Iterator[pymysql.Connection]:
    """Open a session in a database of its own."""
    name = f"test{next(_numbers)}"
    with pymysql.connect(unix_socket=str(socket), user="root") as opened:
        with opened.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            cursor.execute(f"USE {name}")
        yield opened


@pytest.fixture
def catalog(socket: Path, connection: pymysql.Connection, tmp_path: Path) -> Catalog:
    """Return a catalog in that database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT database()")
        (name,) = cursor.fetchone() or (None,)
    uri = f"mysql+pymysql://root@/{name}?unix_socket={socket}"
    return {"type": "sql", "uri": uri, "warehouse": f"file://{tmp_path}"}


def test_every_verb_works(catalog: Catalog) -> None:
    """From the first table to the last, rows are those of a dict."""
    use_every_verb(catalog)


@pytest.mark.slow
@pytest.mark.parametrize("tables", [["c.t"], ["c.t0", "c.t1", "c.t2"]], ids=["one", "several"])
def test_nothing_of_eight_writers_is_lost_or_doubled(catalog: Catalog, tables: list[str]) -> None:
    """Whoever loses a race writes again."""
    check_writers(catalog, tables, writers=8, rounds=10)


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
    catalog: Catalog, connection: pymysql.Connection, tmp_path: Path
) -> None:
    """The server took the commit back, so it is known not to have landed: write again."""
    impatient = {**catalog, "uri": f"{catalog['uri']}&init_command=SET innodb_lock_wait_timeout=1"}

    @contextmanager
    def locked() -> Iterator[None]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM iceberg_tables FOR UPDATE")
            yield
            connection.rollback()

    check_refused_lock(impatient, tmp_path, locked=locked(), retries=1)


def test_a_name_that_the_database_takes_for_another_is_refused(catalog: Catalog) -> None:
    """Its usual collation knows neither case nor accents: one table would be read as another."""
    arctic.create_table("shop.cafe", SCHEMA, primary_key=["id"], catalog=catalog)
    for name in ("shop.CAFE", "shop.caf\u00e9", "Shop.cafe"):
        for verb in (arctic.open_table, arctic.drop_table):
            with pytest.raises(arctic.InvalidInputError, match=r"takes it for 'shop\.cafe'"):
                verb(name, catalog=catalog)
        with pytest.raises(arctic.InvalidInputError, match=r"takes it for 'shop\.cafe'"):
            arctic.create_table(name, SCHEMA, primary_key=["id"], catalog=catalog)
    assert arctic.list_tables(catalog=catalog) == ["shop.cafe"]
