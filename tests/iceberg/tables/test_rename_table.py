"""Another name for a table: both stores move, and a stop in between leaves it whole."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError

import arctic
from arctic.errors import AlreadyExistsError, ConflictError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.change_store import find_change
from arctic.iceberg.catalogs.listing import namespaces, table_identifiers
from arctic.iceberg.tables import create_table, drop_table, rename_table
from arctic.table.property_names import CHANGE_IDENTIFIER, CHANGE_MOVES_TO
from tests.iceberg.catalogs.over_http.rest_server import answers, rest_server

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Make ``db.t`` with a row in each store, and return where it is."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
    table.write(rows((1, "Rome")), mode="upsert")
    table.optimize(type="full")
    table.write(rows((2, "Oslo")), mode="upsert")
    return place


def rows(*pairs: tuple[int, str]) -> pa.Table:
    """Return rows to write."""
    return pa.Table.from_pylist([{"id": key, "city": city} for key, city in pairs], SCHEMA)


def read(place: dict[str, Any], name: str) -> dict[int, str]:
    """Read a table."""
    found = arctic.read(name, **place).read_all().to_pylist()
    return {row["id"]: row["city"] for row in found}


def names(place: dict[str, Any]) -> set[str]:
    """Return the names of all Iceberg tables."""
    catalog = open_catalog(CatalogConfig.from_options(place))
    return {
        ".".join(each)
        for parts in namespaces(catalog)
        for each in table_identifiers(catalog, parts)
    }


def test_both_stores_move_into_another_namespace(place: dict[str, Any]) -> None:
    """Rows, history and properties go with them, and the old name is free."""
    before = arctic.open_table("db.t", **place).inspect("snapshots").num_rows

    table = arctic.open_table("db.t", **place).rename("lake.sales.u")

    assert (table.name, names(place)) == (
        "lake.sales.u",
        {"lake.sales.u", "lake.sales.u_change_"},
    )
    table.write(rows((2, "Bern"), (3, "Lima")), mode="upsert")
    assert read(place, "lake.sales.u") == {1: "Rome", 2: "Bern", 3: "Lima"}
    assert table.inspect("snapshots").num_rows == before + 1
    table.optimize(type="full")
    with pytest.raises(NotFoundError, match=r"db\.t"):
        arctic.open_table("db.t", **place)
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place).write(
        rows((9, "Cork")), mode="upsert"
    )
    assert read(place, "db.t") == {9: "Cork"}
    assert read(place, "lake.sales.u") == {1: "Rome", 2: "Bern", 3: "Lima"}


def test_a_table_without_a_key_moves_alone(tmp_path: Path) -> None:
    """It has one store."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("db.log", SCHEMA, **place).write(rows((1, "Rome")), mode="append")

    arctic.rename("db.log", "db.log2", **place)

    assert names(place) == {"db.log2"}
    assert read(place, "db.log2") == {1: "Rome"}


@pytest.mark.parametrize("stops_at", range(4))
def test_a_stop_in_between_leaves_a_whole_table_and_the_call_finishes_it(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, stops_at: int
) -> None:
    """Until then it is read and written under the old name, and nobody takes its change store."""
    _stop_after(monkeypatch, stops_at)
    with pytest.raises(KeyboardInterrupt):
        arctic.rename("db.t", "lake.u", **place)
    monkeypatch.undo()

    assert read(place, "db.t") == {1: "Rome", 2: "Oslo"}
    arctic.write("db.t", rows((3, "Lima")), mode="upsert", **place)
    with pytest.raises(AlreadyExistsError):
        arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], exist_ok=True, **place)
    if "lake.u_change_" in names(place):
        with pytest.raises(AlreadyExistsError, match=r"change store of 'db\.t'"):
            arctic.create_table("lake.u", SCHEMA, primary_key=["id"], **place)

    arctic.rename("db.t", "lake.u", **place)

    assert names(place) == {"lake.u", "lake.u_change_"}
    assert read(place, "lake.u") == {1: "Rome", 2: "Oslo", 3: "Lima"}
    arctic.drop_table("lake.u", **place)
    assert names(place) == set()


def test_after_a_stop_another_name_may_be_chosen(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change store moves on from where it got to; a drop finds it there too."""
    _stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        arctic.rename("db.t", "lake.u", **place)
    monkeypatch.undo()

    arctic.rename("db.t", "db.v", **place)

    assert names(place) == {"db.v", "db.v_change_"}
    assert read(place, "db.v") == {1: "Rome", 2: "Oslo"}


def test_a_name_that_is_taken_or_cannot_be_is_refused(place: dict[str, Any]) -> None:
    """Before anything moves."""
    arctic.create_table("db.other", SCHEMA, primary_key=["id"], **place)
    before = names(place)

    for new_name, error in [
        ("db.other", AlreadyExistsError),
        ("db.t", InvalidInputError),
        ("db.t.files", InvalidInputError),
        ("db.x_change_", InvalidInputError),
        ("u", InvalidInputError),
    ]:
        with pytest.raises(error):
            arctic.rename("db.t", new_name, **place)
    with pytest.raises(NotFoundError):
        arctic.rename("db.nope", "db.x", **place)
    with pytest.raises(InvalidInputError, match="change store"):
        arctic.rename("db.t_change_", "db.x", **place)

    assert names(place) == before
    assert read(place, "db.t") == {1: "Rome", 2: "Oslo"}


def test_a_writer_under_the_old_name_commits_nothing(place: dict[str, Any]) -> None:
    """A handle that was opened before says that the table is gone."""
    old = arctic.open_table("db.t", **place)
    arctic.rename("db.t", "db.u", **place)

    with pytest.raises(NotFoundError):
        old.write(rows((7, "Cork")), mode="upsert")

    assert read(place, "db.u") == {1: "Rome", 2: "Oslo"}


@pytest.mark.parametrize("other_name", ["db.u", "db.v"])
def test_two_renames_at_a_time_leave_a_whole_table(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, other_name: str
) -> None:
    """The second found the change store where it was before the first one moved it."""
    marked, found, moved, gave_up = (threading.Event() for _ in range(4))
    rename_store, find_store = rename_table._rename, find_change

    def rename_in_turn(catalog: Any, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        if threading.current_thread().name == "first":
            before, after = (moved, gave_up) if marked.is_set() else (marked, found)
            before.set()
            assert after.wait(30)
        rename_store(catalog, old, new)

    def find_in_turn(*arguments: Any, **named: Any) -> Any:
        store = find_store(*arguments, **named)
        if threading.current_thread().name != "first":
            found.set()
            assert moved.wait(30)
        return store

    monkeypatch.setattr(rename_table, "_rename", rename_in_turn)
    monkeypatch.setattr(rename_table, "find_change", find_in_turn)
    first = threading.Thread(
        name="first", target=lambda: arctic.rename("db.t", "db.u", **place), daemon=True
    )
    first.start()
    assert marked.wait(30)
    with pytest.raises((AlreadyExistsError, NotFoundError)):
        arctic.rename("db.t", other_name, **place)
    gave_up.set()
    first.join()

    assert names(place) == {"db.u", "db.u_change_"}
    assert read(place, "db.u") == {1: "Rome", 2: "Oslo"}


def test_after_a_stop_before_the_change_store_moved_another_name_may_be_chosen(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first name has been taken since."""
    for taken in (False, True):
        _stop_after(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            arctic.rename("db.t", f"lake.{taken}", **place)
        monkeypatch.undo()
        if taken:
            arctic.create_table(f"lake.{taken}", SCHEMA, primary_key=["id"], **place)

        arctic.rename("db.t", "db.v", **place)
        assert read(place, "db.v") == {1: "Rome", 2: "Oslo"}
        arctic.rename("db.v", "db.t", **place)

    assert names(place) == {"db.t", "db.t_change_", "lake.True", "lake.True_change_"}


def test_a_table_made_under_the_new_name_meanwhile_takes_no_change_store(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked for the place of its own before the rename came by."""
    create_store = create_table._create

    def create_late(catalog: Any, identifier: tuple[str, ...], *arguments: Any) -> Any:
        monkeypatch.undo()
        _stop_after(monkeypatch, 2)
        with pytest.raises(KeyboardInterrupt):
            arctic.rename("db.t", "db.u", **place)
        monkeypatch.undo()
        return create_store(catalog, identifier, *arguments)

    monkeypatch.setattr(create_table, "_create", create_late)
    with pytest.raises(AlreadyExistsError, match=r"change store of 'db\.t'"):
        arctic.create_table("db.u", SCHEMA, primary_key=["id"], **place)

    assert names(place) == {"db.t", "db.u_change_"}
    arctic.rename("db.t", "db.u", **place)
    assert read(place, "db.u") == {1: "Rome", 2: "Oslo"}


def test_a_purge_deletes_no_file_of_a_table_that_is_renamed_meanwhile(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the table gone from under its name, but not from the catalog."""
    check_alone = drop_table._check_alone

    def rename_then(catalog: Any, stores: Any) -> None:
        check_alone(catalog, stores)
        arctic.rename("db.t", "db.u", **place)

    monkeypatch.setattr(drop_table, "_check_alone", rename_then)
    with pytest.raises(ConflictError, match=r"table 'db\.u'"):
        arctic.drop_table("db.t", purge=True, **place)

    assert read(place, "db.u") == {1: "Rome", 2: "Oslo"}


@pytest.mark.parametrize("when", ["before the look", "before the move", "after both"])
def test_two_renames_at_a_time_leave_a_whole_table_behind_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """It compares no properties, so each says where the change store goes as if it were alone."""
    with rest_server(tmp_path) as server:
        place: dict[str, Any] = {"catalog": server.properties}
        table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
        table.write(rows((1, "Rome")), mode="upsert")
        moves: list[str] = []

        def other() -> None:
            """Say that it moves the change store, as seen before the first one said so."""
            moves.append(when)
            base = server.catalog.load_table("db.t")
            with base.transaction() as changes:
                changes.set_properties(
                    {CHANGE_IDENTIFIER: "db.t_change_", CHANGE_MOVES_TO: "db.v_change_"}
                )

        def between(method: str, path: str) -> bool:
            is_now = {
                "before the look": method == "GET" and server.count("POST", "/tables/t") == 1,
                "before the move": path.endswith("/tables/rename"),
                "after both": method == "GET" and server.count("POST", "/tables/t") == 2,
            }
            if is_now[when] and not moves:
                other()
            return False

        server.asked.clear()
        server.is_stuck = between
        if when == "before the look":
            with pytest.raises(ConflictError, match="others rename it as well"):
                arctic.rename("db.t", "db.u", **place)
        else:
            arctic.rename("db.t", "db.u", **place)
        server.is_stuck = answers

        assert moves
        there = "db.t" if when == "before the look" else "db.u"
        assert read(place, there) == {1: "Rome"}
        arctic.rename(there, "db.w", **place)
        assert read(place, "db.w") == {1: "Rome"}


def test_a_move_that_is_asked_for_twice_has_happened(tmp_path: Path) -> None:
    """A server that looks at the new name first says that it is taken: by that change store."""
    taken = {"message": "Table already exists", "type": "AlreadyExistsException", "code": 409}
    with rest_server(tmp_path) as server:
        place: dict[str, Any] = {"catalog": server.properties}
        table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
        table.write(rows((1, "Rome")), mode="upsert")
        server.asked.clear()
        server.is_stuck = lambda _, path: (
            path.endswith("/tables/rename") and server.count("POST", "/tables/rename") == 1
        )
        server.does_it_first = True
        server.instead = 409, json.dumps({"error": taken}).encode()

        arctic.rename("db.t", "db.u", **place)

        assert set(server.catalog.list_tables("db")) == {("db", "u"), ("db", "u_change_")}
        assert read(place, "db.u") == {1: "Rome"}


@pytest.mark.parametrize("is_taken", [True, False])
def test_what_hive_says_of_a_name_that_is_taken_meanwhile(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    """It has one word for that, and for a namespace that is gone."""

    def refuse(*_: Any) -> None:
        if is_taken:
            arctic.create_table("lake.u", SCHEMA, **place)
        raise NoSuchNamespaceError("Database does not exists: lake")

    monkeypatch.setattr(SqlCatalog, "rename_table", refuse)
    error = AlreadyExistsError if is_taken else NotFoundError
    table = arctic.create_table("db.plain", SCHEMA, **place)
    with pytest.raises(error, match=r"'lake\.u' already exists" if is_taken else "'lake' was"):
        arctic.rename(table.name, "lake.u", **place)


def _stop_after(monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
    """Let a process end after so many commits to the catalog."""
    done: list[str] = []
    for method in ("commit_table", "rename_table"):
        original = getattr(SqlCatalog, method)

        def counted(*arguments: Any, _original: Any = original) -> Any:
            if len(done) == commits:
                raise KeyboardInterrupt
            done.append("")
            return _original(*arguments)

        monkeypatch.setattr(SqlCatalog, method, counted)
