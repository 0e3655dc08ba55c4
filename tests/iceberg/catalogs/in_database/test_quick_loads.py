"""Tables that are loaded quickly are those that PyIceberg loads, and no others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

from arctic.iceberg.catalogs.in_database import quick_loads
from arctic.iceberg.catalogs.in_database.quick_loads import _PYICEBERGS
from tests.iceberg.stores import append, make, row


def test_a_table_is_loaded_as_pyiceberg_loads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each commit, and without a session of its own."""
    opened = make(tmp_path)
    catalog = opened.base.catalog
    assert isinstance(catalog, SqlCatalog)
    for number in range(2):
        for name in (("db", "t"), ("db", "t_change_"), "db.t"):
            by_pyiceberg = _PYICEBERGS(catalog, name)
            with monkeypatch.context() as patched:
                patched.delattr(quick_loads, "_PYICEBERGS")
                quickly = catalog.load_table(name)
            assert quickly == by_pyiceberg
            assert quickly.metadata_location == by_pyiceberg.metadata_location
            assert quickly.catalog is catalog
        append(opened, [row(number)])


def test_what_is_no_table_is_not_loaded(tmp_path: Path) -> None:
    """A view, another catalog's table, and one that is not there: PyIceberg says so."""
    catalog = make(tmp_path).base.catalog
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        for name, change in (("v", "iceberg_type = 'VIEW'"), ("o", "catalog_name = 'other'")):
            connection.execute(
                "insert into iceberg_tables select catalog_name, table_namespace, ?, "
                "metadata_location, null, iceberg_type from iceberg_tables where table_name = 't'",
                [name],
            )
            connection.execute(f"update iceberg_tables set {change} where table_name = ?", [name])
        connection.commit()

    for name in ("v", "o", "missing"):
        with pytest.raises(NoSuchTableError):
            catalog.load_table(("db", name))
    assert catalog.load_table(("db", "t")).name() == ("db", "t")
