"""Commits in SQLite that hold only while the other store of a table is as it was looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.in_database.transaction_end import only_while_unmoved
from arctic.iceberg.commits.asking import sending
from tests.catalogs.both_stores import CHECKS, NAME, SCHEMA, Before, Places, before_commits_in_sql
from tests.catalogs.one_batch import check_one_transaction


def test_tables_of_a_batch_become_visible_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction."""
    check_one_transaction(catalog_in(tmp_path), monkeypatch)


@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    tmp_path: Path, check: Callable[[Places, Before], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction."""
    check(Places(catalog_in(tmp_path)), before_commits_in_sql(monkeypatch))


def catalog_in(folder: Path) -> dict[str, str]:
    """Return what a catalog in a new file is opened with."""
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/c.db",
        "warehouse": f"file://{folder}",
    }


@pytest.mark.parametrize(("most_rows", "last"), [(9, 99), (0, 4)])
def test_who_commits_without_a_pause_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int, last: int
) -> None:
    """A few rows of elsewhere are looked at while others wait; more are, as ever, in the way."""
    uri = f"sqlite:///{tmp_path}/c.db"
    places = Places({"type": "sql", "uri": uri, "warehouse": f"file://{tmp_path}"})
    before, upserted = before_commits_in_sql(monkeypatch), [2]
    monkeypatch.setattr(sending, "_MOST_ROWS", most_rows)

    def upsert() -> None:
        upserted.append(upserted[-1] + 1)
        places.put("upsert", [(upserted[-1], "Oslo")])
        if upserted[-1] < last:
            before(upsert)

    before(upsert)
    arctic.open_table(NAME, catalog=places.catalog).delete("city = 'Rome'")

    assert places.rows == [(each, "Oslo") for each in upserted[1:]]
    assert upserted[-1] == (3 if most_rows else last)


def test_only_the_commits_of_who_says_so_are_held_to_it(tmp_path: Path) -> None:
    """Those of another thread, and those that come afterwards, compare their own table alone."""
    warehouse = str(tmp_path)
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], warehouse=warehouse)
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": warehouse}))
    seen, mine = catalog.load_table(NAME), catalog.load_table(f"{NAME}_change_")
    catalog.load_table(NAME).transaction().set_properties(moved="on").commit_transaction()

    def commit() -> None:
        mine.refresh().transaction().set_properties(a="1").commit_transaction()

    with only_while_unmoved(seen):
        with pytest.raises(CommitFailedException, match=r"'db\.p' was committed to"):
            commit()
        other = threading.Thread(target=commit)
        other.start()
        other.join()
    assert mine.refresh().properties["a"] == "1"
    mine.transaction().set_properties(a="2").commit_transaction()
    with only_while_unmoved(seen.refresh()):
        mine.transaction().set_properties(a="3").commit_transaction()
    assert mine.refresh().properties["a"] == "3"


def test_what_this_process_knows_of_the_other_store_is_not_read_while_others_wait(
    tmp_path: Path,
) -> None:
    """A look within the transaction takes the metadata that is kept, if the location is its."""
    warehouse = str(tmp_path)
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], warehouse=warehouse)
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": warehouse}))
    seen, mine = catalog.load_table(NAME), catalog.load_table(f"{NAME}_change_")
    catalog.load_table(NAME).transaction().set_properties(moved="on").commit_transaction()
    newest, looked = catalog.load_table(NAME), list[Table]()
    with only_while_unmoved(seen, looked.append):
        mine.transaction().set_properties(a="1").commit_transaction()

    assert [each.metadata for each in looked] == [newest.metadata]
    assert looked[0].metadata is newest.metadata
