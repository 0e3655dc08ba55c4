"""Commits that look at both stores of a table, while another one lands right before theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import arctic
from tests.catalogs.verbs import pairs

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
NAME = "db.p"
Before = Callable[[Callable[[], object]], object]
"""Has something happen right before the next commit reaches the catalog."""


class Places:
    """Rows of ``db.p``, partitioned by what is no key, so that they can move."""

    def __init__(self, catalog: Mapping[str, str]) -> None:
        self.catalog = catalog
        arctic.create_table(
            NAME, SCHEMA, primary_key=["id"], partition_by=["city"], catalog=catalog
        )
        self.put("overwrite", [(1, "Rome"), (2, "Rome")])

    def __enter__(self) -> Places:
        return self

    def __exit__(self, *_: object) -> None:
        arctic.drop_table(NAME, purge=True, catalog=self.catalog)

    def put(self, mode: str, rows: list[tuple[int, str]]) -> None:
        """Write rows."""
        columns = {"id": [row[0] for row in rows], "city": [row[1] for row in rows]}
        arctic.write(NAME, pa.table(columns, schema=SCHEMA), mode=mode, catalog=self.catalog)

    def make_stay(self) -> None:
        """Begin anew with the same rows in a table without partitions, where no row moves."""
        arctic.drop_table(NAME, purge=True, catalog=self.catalog)
        arctic.create_table(NAME, SCHEMA, primary_key=["id"], catalog=self.catalog)
        self.put("overwrite", [(1, "Rome"), (2, "Rome")])

    @property
    def rows(self) -> list[tuple[int, str]]:
        """All rows, in order: one that is doubled shows."""
        return pairs(arctic.read(NAME, catalog=self.catalog).read_all())


def check_upsert_after_overwrite(places: Places, before: Before) -> None:
    """Upsert rows where an overwrite has put them elsewhere: none is there twice."""
    before(lambda: places.put("overwrite", [(1, "Oslo"), (3, "Oslo")]))
    places.put("upsert", [(1, "Lima")])

    assert places.rows == [(1, "Lima"), (3, "Oslo")]


def check_overwrite_after_upsert(places: Places, before: Before) -> None:
    """Overwrite what is not what was seen: refused, because a row could end up twice."""
    before(lambda: places.put("upsert", [(1, "Lima")]))
    with pytest.raises(arctic.ConflictError, match="could end up twice"):
        places.put("overwrite", [(1, "Oslo"), (3, "Oslo")])

    assert places.rows == [(1, "Lima"), (2, "Rome")]


def check_restore_and_delete(places: Places, before: Before) -> None:
    """Restore, and delete by metadata: nothing that landed right before is lost under them."""
    places.put("upsert", [(2, "Lima")])
    before(lambda: places.put("upsert", [(1, "Lima")]))
    table = arctic.open_table(NAME, catalog=places.catalog)
    table.restore(1)
    assert places.rows == [(1, "Rome"), (2, "Rome")]

    before(lambda: places.put("upsert", [(2, "Oslo")]))
    table.delete("city = 'Rome'")
    assert places.rows == [(2, "Oslo")]


def check_update_after_replacing(places: Places, before: Before) -> None:
    """Update what an overwrite and a restore put there, though neither looks at the changes."""
    places.make_stay()
    table = arctic.open_table(NAME, catalog=places.catalog)
    before(lambda: places.put("overwrite", [(1, "Oslo"), (3, "Oslo")]))
    table.update("id = 1", set={"city": "city || '!'"})
    assert places.rows == [(1, "Oslo!"), (3, "Oslo")]

    before(lambda: arctic.open_table(NAME, catalog=places.catalog).restore(1))
    table.update("id = 1", set={"city": "city || '?'"})
    assert places.rows == [(1, "Rome?"), (2, "Rome")]


def before_commits_in_sql(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Return what has something happen before the next commit to a catalog in a database."""
    return before_commits(SqlCatalog, monkeypatch)


def before_commits(
    kind: type[MetastoreCatalog], monkeypatch: pytest.MonkeyPatch, *, passing: int = 0
) -> Before:
    """Return what has something happen before a commit to a kind of catalogs.

    Args:
        kind: of the catalogs.
        monkeypatch: has it so for one test.
        passing: commits that come before.
    """
    waiting: list[Callable[[], object]] = []
    commit, left = kind.commit_table, [0]

    def commit_table(catalog: MetastoreCatalog, table: Table, *given: object) -> object:
        if waiting and left[0]:
            left[0] -= 1
        elif waiting:
            with ThreadPoolExecutor(1) as somebody_else:
                somebody_else.submit(waiting.pop()).result()
        return commit(catalog, table, *given)  # type: ignore[arg-type]

    def before(something: Callable[[], object]) -> None:
        left[0] = passing
        waiting.append(something)

    monkeypatch.setattr(kind, "commit_table", commit_table)
    return before


CHECKS = (
    check_upsert_after_overwrite,
    check_overwrite_after_upsert,
    check_restore_and_delete,
    check_update_after_replacing,
)
