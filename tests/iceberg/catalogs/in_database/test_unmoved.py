"""Commits in SQLite that hold only while the other store of a table is as it was looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.in_database.unmoved import only_while_unmoved
from tests.catalogs.both_stores import CHECKS, NAME, SCHEMA, Before, Places, before_commits_in_sql


@pytest.mark.parametrize("check", CHECKS)
def test_both_stores_are_compared_by_who_looked_at_both(
    tmp_path: Path, check: Callable[[Places, Before], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction."""
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/c.db",
        "warehouse": f"file://{tmp_path}",
    }
    check(Places(catalog), before_commits_in_sql(monkeypatch))


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
