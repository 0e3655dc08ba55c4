"""A drop beside others who drop the same table, make it anew and write to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.ownership.published import check_unpublished
from arctic.iceberg.tables import drop_table
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Make ``db.t`` with a change in it, and return where it is."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    make(1, place)
    return place


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    """The same behind HTTP."""
    with rest_server(tmp_path) as served:
        make(1, {"catalog": served.properties})
        yield served


def make(number: int, place: dict[str, Any]) -> None:
    """Make the table, and write a row."""
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
    write(number, place)


def write(number: int, place: dict[str, Any]) -> None:
    """Write a row."""
    arctic.write("db.t", pa.table({"id": [number]}, SCHEMA), mode="upsert", **place)


def read(place: dict[str, Any]) -> list[object]:
    """Read the table."""
    return list(arctic.read("db.t", **place).read_all()["id"].to_pylist())


def after_the_look(monkeypatch: pytest.MonkeyPatch, others: Any) -> None:
    """Let others do something once, when a drop has looked at its table."""
    came: list[bool] = []

    def check_then(*arguments: Any) -> None:
        check_unpublished(*arguments)
        if not came:
            came.append(True)
            others()

    monkeypatch.setattr(drop_table, "check_unpublished", check_then)


def test_a_table_that_is_made_anew_after_the_look_stays(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the name of what was to be dropped, which is gone."""

    def others() -> None:
        arctic.drop_table("db.t", **place)
        make(7, place)

    after_the_look(monkeypatch, others)
    arctic.drop_table("db.t", **place)

    assert read(place) == [7]


@pytest.mark.parametrize("key", [["id"], []], ids=["with a key", "without a key"])
def test_commits_after_the_look_keep_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: list[str]
) -> None:
    """Whoever writes to a table that is dropped loses that with it, as ever."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table("db.t", SCHEMA, primary_key=key, **place)
    rows = pa.table({"id": [2]}, SCHEMA)
    after_the_look(monkeypatch, lambda: table.write(rows, mode="append"))

    arctic.drop_table("db.t", **place)

    assert open_catalog(CatalogConfig.from_options(place)).list_tables("db") == []


def test_a_table_whose_change_store_moves_after_the_look_goes_whole(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename has moved the one store, and not yet the other."""
    rename = SqlCatalog.rename_table

    def stopped(catalog: Any, old: Any, new: Any) -> Any:
        if new[-1] == "u":
            raise KeyboardInterrupt
        return rename(catalog, old, new)

    def others() -> None:
        with pytest.raises(KeyboardInterrupt):
            arctic.rename("db.t", "db.u", **place)

    monkeypatch.setattr(SqlCatalog, "rename_table", stopped)
    after_the_look(monkeypatch, others)
    arctic.drop_table("db.t", **place)

    assert open_catalog(CatalogConfig.from_options(place)).list_tables("db") == []


def test_both_stores_leave_a_database_at_once(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can come between."""

    def one_alone(_: object, name: object) -> None:
        raise AssertionError(f"{name} is dropped by itself")

    monkeypatch.setattr(SqlCatalog, "drop_table", one_alone)
    arctic.drop_table("db.t", **place)

    assert open_catalog(CatalogConfig.from_options(place)).list_tables("db") == []


def test_a_table_made_anew_between_the_two_drops_keeps_its_rows(server: RestServer) -> None:
    """A server drops whatever has the name: it is asked right before what that is."""
    place: dict[str, Any] = {"catalog": server.properties}
    came: list[bool] = []

    def others(_method: str, path: str) -> bool:
        is_between = server.count("DELETE", "/tables/t") == 1 and path.endswith("/tables/t_change_")
        if is_between and not came:
            came.append(True)
            make(7, place)
        return False

    server.is_stuck = others
    arctic.drop_table("db.t", **place)

    assert came
    assert read(place) == [7]
