"""Embedded catalogs that stay open: only for as long as they are what would be opened."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import text

import arctic
from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs import kept_catalogs
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.in_database.quick_loads import KEPT_CONNECTIONS
from arctic.iceberg.catalogs.kept_catalogs import KeptCatalogs
from arctic.iceberg.catalogs.read_only import ReadOnlySqlCatalog

SCHEMA = pa.schema([("id", pa.int64())])


def config(folder: Path, **properties: str) -> CatalogConfig:
    """Return the embedded catalog of a folder."""
    given = {f"catalog.{name}": text for name, text in properties.items()}
    return CatalogConfig.from_options({"warehouse": str(folder), **given})


def write(folder: Path, *ids: int) -> None:
    """Write rows."""
    rows = pa.table({"id": list(ids)}, schema=SCHEMA)
    arctic.write("db.t", rows, mode="upsert", warehouse=str(folder))


def create(folder: Path) -> None:
    """Make a warehouse with a table."""
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(folder))


def ids(folder: Path) -> list[int]:
    """Return the ids of a table."""
    rows = arctic.read("db.t", warehouse=str(folder)).read_all()
    return sorted(rows["id"].to_pylist())


def test_a_catalog_is_opened_once(tmp_path: Path) -> None:
    """For each folder and what else it is opened with."""
    create(tmp_path)
    first = open_catalog(config(tmp_path))

    assert open_catalog(config(tmp_path)) is first
    assert open_catalog(config(tmp_path), create=True) is first
    assert open_catalog(config(tmp_path, other="x")) is not first


def test_a_warehouse_that_was_made_again_is_another_one(tmp_path: Path) -> None:
    """Whatever number its file has, and a deleted one is missing."""
    create(tmp_path / "w")
    write(tmp_path / "w", 1)
    shutil.rmtree(tmp_path / "w")
    with pytest.raises(NotFoundError):
        ids(tmp_path / "w")

    create(tmp_path / "w")
    write(tmp_path / "w", 2)
    assert ids(tmp_path / "w") == [2]


def test_a_file_without_a_write_ahead_log_gets_one_again(tmp_path: Path) -> None:
    """Without it a reader could block a commit."""
    create(tmp_path)
    KEPT_CONNECTIONS.close()
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("pragma journal_mode=delete")
    write(tmp_path, 1)

    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


_LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("select count(*) from iceberg_tables").fetchone() == (2,)
connection.close()
"""


def test_a_look_for_the_catalog_leaves_the_locks_of_other_threads(tmp_path: Path) -> None:
    """Another process would take a file for unused, and delete the log that is written to."""
    create(tmp_path)
    catalog = open_catalog(config(tmp_path))
    assert isinstance(catalog, SqlCatalog)
    with catalog.engine.connect() as connection:
        connection.execute(text("select 1 from iceberg_tables")).all()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(open_catalog, config(tmp_path)).result() is catalog
        subprocess.run([sys.executable, "-c", _LOOK, str(tmp_path / "catalog.db")], check=True)

        assert (tmp_path / "catalog.db-wal").exists()
    KEPT_CONNECTIONS.close()
    assert not (tmp_path / "catalog.db-wal").exists()


def test_the_right_to_write_is_asked_for_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that may only be read is opened as such, and as before once it may be written."""
    create(tmp_path)
    write(tmp_path, 1)
    with monkeypatch.context() as patched:
        for place in ("kept_catalogs", "opening"):
            patched.setattr(f"arctic.iceberg.catalogs.{place}.may_only_read", lambda _: True)
        assert isinstance(open_catalog(config(tmp_path)), ReadOnlySqlCatalog)
        with pytest.raises(StorageError, match="no permission to write"):
            write(tmp_path, 2)
        with pytest.raises(StorageError, match="no permission to write"):
            open_catalog(config(tmp_path), create=True)
    write(tmp_path, 3)

    assert ids(tmp_path) == [1, 3]


def test_a_child_process_opens_its_own(tmp_path: Path) -> None:
    """And asks it, while its parent goes on."""
    create(tmp_path)
    with kept_catalogs.KEPT_CATALOGS._lock:
        child = os.fork()
        if child == 0:
            try:
                assert not kept_catalogs.KEPT_CATALOGS._kept
                assert len(open_catalog(config(tmp_path)).list_tables("db")) == 2
                os._exit(0)
            finally:
                os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    write(tmp_path, 3)

    assert ids(tmp_path) == [3]


def test_threads_commit_through_one_object(tmp_path: Path) -> None:
    """No row is lost or doubled."""
    create(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: write(tmp_path, number), range(12)))

    assert ids(tmp_path) == list(range(12))


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    """The one that was opened longest ago goes, with its connections."""
    kept = KeptCatalogs(2)
    made: list[Any] = []
    closed: list[int] = []

    def make() -> Any:
        number = len(made)
        made.append(SimpleNamespace(close=lambda: closed.append(number)))
        return made[-1]

    for name in ("a", "b", "c"):
        create(tmp_path / name)
        kept.of(tmp_path / name / "catalog.db", (), make)
    assert kept.of(tmp_path / "c" / "catalog.db", (), make) is made[2]
    kept.of(tmp_path / "a" / "catalog.db", (), make)

    assert (len(made), closed) == (4, [0, 1])
