"""A clone: a table of its own that begins with the files of another one."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import TableAlreadyExistsError

import arctic
from arctic.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.cloning import clone_pair
from arctic.iceberg.ownership.registered_table import register_table
from arctic.table.property_names import CLONE_OF, is_own
from tests.iceberg.plain_readers import by_pyiceberg
from tests.job.past.states import NOW, SCHEMA, catalog_table, make, rows_of, upsert

ALL = {**NOW, "delete-outside-files": "true"}


def clone(table: arctic.Table, name: str, folder: Path, **arguments: Any) -> arctic.Table:
    """Clone a table, and return the clone."""
    report = arctic.clone(table.name, name, warehouse=str(folder), **arguments)
    assert report.target == name
    return arctic.open_table(name, warehouse=str(folder))


def wear(table: arctic.Table) -> None:
    """Replace every file of a table, and clean up all that may be cleaned."""
    table.optimize(type="full")
    table.expire(options=ALL)


def begun(folder: Path, **arguments: Any) -> arctic.Table:
    """Return a table with rows in base, and changes on top of them where it has a key."""
    table = make(folder, **arguments)
    table.write(pa.table({"id": ["a", "b"], "n": [1, 1]}, SCHEMA), mode="overwrite")
    more = pa.table({"id": ["c"], "n": [2]}, SCHEMA)
    table.write(more, mode="append")
    return table


@pytest.mark.parametrize("key", ["id", ()])
@pytest.mark.parametrize("dropped", ["m.t", "m.c"])
def test_each_table_goes_on_by_itself(tmp_path: Path, key: Any, dropped: str) -> None:
    """Written, optimized, cleaned beside the other; one that is dropped leaves the other whole."""
    source = begun(tmp_path, primary_key=key)
    copy = clone(source, "m.c", tmp_path)
    begin = {"a": 1, "b": 1, "c": 2}
    assert rows_of(copy) == rows_of(source) == begin
    assert not list((tmp_path / "m" / "c").rglob("*.parquet"))

    for number, table in enumerate((source, copy)):
        table.write(pa.table({"id": ["d"], "n": [number]}, SCHEMA), mode="append")
    wear(source)
    assert rows_of(copy) == {**begin, "d": 1}
    wear(copy)
    wear(source)
    assert rows_of(source) == {**begin, "d": 0}
    assert rows_of(copy) == {**begin, "d": 1}

    left = copy if dropped == source.name else source
    arctic.drop_table(dropped, warehouse=str(tmp_path))
    wear(left)
    assert rows_of(left) == {**begin, "d": 1 if left is copy else 0}


def test_a_past_state_is_cloned_with_what_was_merged_then(tmp_path: Path) -> None:
    """By version and by tag; a delete that is merged later does not reach the clone."""
    table = make(tmp_path)
    upsert(table, a=1, b=1)
    table.optimize(type="full")
    upsert(table, b=2)
    version = int(table.versions()["version"][-1].as_py())
    table.tag("then", version)
    table.write(pa.table({"id": ["a"]}), mode="delete")
    table.optimize(type="full")
    upsert(table, c=3)

    copy = clone(table, "m.c", tmp_path, version=version)
    tagged = clone(table, "m.tagged", tmp_path, version="then")
    assert rows_of(copy) == rows_of(tagged) == {"a": 1, "b": 2}
    upsert(copy, c=1)
    copy.write(pa.table({"id": ["b"]}), mode="delete")
    for kind in ("minor", "full"):
        copy.optimize(type=kind)
        assert rows_of(copy) == {"a": 1, "c": 1}
    assert rows_of(table) == {"b": 2, "c": 3}
    assert tagged.tags() == ()


def test_a_delete_holds_against_late_rows_in_a_clone_too(tmp_path: Path) -> None:
    """As long as it would if it had been committed when the clone was made."""
    source = make(tmp_path, ordering_columns="n")
    upsert(source, a=5, b=5)
    source.write(pa.table({"id": ["a"], "n": [6]}, SCHEMA), mode="delete")
    source.optimize(type="full")
    copy = clone(clone(source, "m.c", tmp_path), "m.d", tmp_path)
    for _ in range(2):
        source.expire()
        copy.expire()

    for table in (source, copy):
        upsert(table, a=5)
        assert rows_of(table) == {"b": 5}
        table.optimize(type="full")
        assert rows_of(table) == {"b": 5}
    copy.expire(options=NOW)
    upsert(copy, a=5)
    assert rows_of(copy) == {"a": 5, "b": 5}


def test_files_stay_for_a_clone_of_a_clone_and_for_what_shows_one(tmp_path: Path) -> None:
    """Whoever stands between is gone: the source still knows who needs its files."""
    source = begun(tmp_path)
    middle = clone(source, "m.c", tmp_path)
    arctic.publish("m.c", into="m.shown", warehouse=str(tmp_path))
    last = clone(middle, "m.d", tmp_path)
    upsert(middle, a=9)
    wear(middle)  # it is published as it was
    wear(source)
    begin = {"a": 1, "b": 1, "c": 2}
    shown = by_pyiceberg(str(tmp_path), "m.shown").to_pylist()
    assert {row["id"]: row["n"] for row in shown} == rows_of(last) == rows_of(source) == begin

    with pytest.raises(InvalidInputError, match="was cloned from it"):
        arctic.drop_table("m.t", purge=True, warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match="was cloned from it"):
        arctic.release("m.t", warehouse=str(tmp_path))
    arctic.unpublish("m.c", warehouse=str(tmp_path))
    arctic.drop_table("m.c", warehouse=str(tmp_path))
    upsert(source, a=5)
    wear(source)
    assert rows_of(last) == begin
    wear(last)
    arctic.drop_table("m.d", purge=True, warehouse=str(tmp_path))
    assert rows_of(source) == {**begin, "a": 5}


@pytest.mark.parametrize("has_source", [True, False])
def test_files_stay_for_a_clone_that_was_released(tmp_path: Path, has_source: bool) -> None:
    """It is a plain table, and refers to them still; its source knows, and another clone."""
    source = begun(tmp_path)
    source.optimize(type="full")
    copy = clone(source, "m.c", tmp_path)
    keeper = source if has_source else clone(source, "m.d", tmp_path)
    begin = rows_of(copy)
    arctic.release("m.c", warehouse=str(tmp_path))
    assert catalog_table(tmp_path, "m.c").properties["gc.enabled"] == "false"

    if has_source:
        with pytest.raises(InvalidInputError, match=r"'m\.c' was cloned from it"):
            arctic.release("m.t", warehouse=str(tmp_path))
        with pytest.raises(InvalidInputError, match=r"'m\.c' was cloned from it"):
            arctic.drop_table("m.t", purge=True, warehouse=str(tmp_path))
    else:
        arctic.drop_table("m.t", warehouse=str(tmp_path))
    wear(keeper)
    shown = by_pyiceberg(str(tmp_path), "m.c").to_pylist()
    assert {row["id"]: row["n"] for row in shown} == begin

    copy = arctic.adopt("m.c", primary_key="id", warehouse=str(tmp_path))
    for name in ("m.c", "m.c_change_"):
        assert CLONE_OF in catalog_table(tmp_path, name).properties
    upsert(copy, a=7)
    wear(copy)
    wear(keeper)
    assert rows_of(copy) == {**begin, "a": 7}
    assert rows_of(keeper) == begin


def test_two_clones_know_of_each_other_when_their_source_is_gone(tmp_path: Path) -> None:
    """Files outside a table's folders go only when the last table that needs them lets go."""
    source = begun(tmp_path)
    one, other = (clone(source, name, tmp_path) for name in ("m.c", "m.d"))
    arctic.drop_table("m.t", warehouse=str(tmp_path))
    wear(one)
    assert rows_of(other) == {"a": 1, "b": 1, "c": 2}
    files = [urlparse(str(path)).path for path in other.inspect("files")["path"].to_pylist()]
    wear(other)
    assert rows_of(one) == rows_of(other) == {"a": 1, "b": 1, "c": 2}
    assert files
    assert not any(Path(path).exists() for path in files)


def test_a_clone_has_what_a_user_has_set_and_nothing_else_of_its_source(tmp_path: Path) -> None:
    """Its names tie its own stores together; other engines must not clean it."""
    table = begun(tmp_path, properties={"change.file-index.hash-bucket": "8", "owner": "me"})
    table.tag("first")
    arctic.publish("m.t", warehouse=str(tmp_path))
    copy = clone(table, "other.c", tmp_path)
    stores = [catalog_table(tmp_path, name) for name in ("other.c", "other.c_change_")]
    source = catalog_table(tmp_path, "m.t")
    for store in stores:
        assert store.properties["gc.enabled"] == "false"
        assert store.properties["owner"] == "me"
        assert str(source.metadata.table_uuid) in store.properties[CLONE_OF]
        assert not any("publish" in name or "tag" in name for name in store.properties)
    kept = {name: text for name, text in source.properties.items() if not is_own(name)}
    assert kept.items() <= {**stores[0].properties, "gc.enabled": "false"}.items()
    theirs = {each.snapshot_id for each in source.metadata.snapshots}
    assert theirs.isdisjoint(each.snapshot_id for each in stores[0].metadata.snapshots)
    arctic.set_properties("m.t", {"gc.enabled": "false"}, warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match="gc"):
        table.expire()
    copy.expire()


@pytest.mark.parametrize("key", ["id", ()])
def test_changes_of_a_clone_begin_with_it(tmp_path: Path, key: Any) -> None:
    """Its first commit holds rows that no reader of changes may miss: a range before is refused."""
    table = make(tmp_path, primary_key=key)
    table.write(pa.table({"id": ["a"], "n": [1]}, SCHEMA), mode="append")
    copy = clone(table, "m.c", tmp_path)
    store = catalog_table(tmp_path, "m.c_change_" if key else "m.c")
    (first,) = store.metadata.snapshots
    copy.write(pa.table({"id": ["b"], "n": [2]}, SCHEMA), mode="append")

    def read(**given: Any) -> list[str]:
        rows = arctic.read_changes("m.c", warehouse=str(tmp_path), **given).read_all()
        return [str(each) for each in rows["id"].to_pylist()]

    assert read(start=first.snapshot_id) == ["b"]
    with pytest.raises((NotFoundError, UnsupportedError)):
        read(start=first.timestamp_ms - 1)


def test_a_state_that_expires_meanwhile_is_not_cloned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest one is pinned anew; one of the past is gone, and so is what was made of it."""
    table = begun(tmp_path)
    version = int(table.versions()["version"][-1].as_py())
    times: list[int] = []

    def late(*arguments: Any) -> Any:
        if len(times) < 2:
            wear(table)
        times.append(1)
        return register_table(*arguments)

    monkeypatch.setattr(clone_pair, "register_table", late)
    assert rows_of(clone(table, "m.c", tmp_path)) == {"a": 1, "b": 1, "c": 2}
    times.clear()
    upsert(table, a=3)
    version = int(table.versions()["version"][-1].as_py())
    with pytest.raises((NotFoundError, ConflictError)):
        clone(table, "m.d", tmp_path, version=version)
    names = arctic.list_tables("m", warehouse=str(tmp_path))
    assert sorted(names) == ["m.c", "m.t"]
    assert not list(tmp_path.glob("m/d*/**/*"))


def test_what_cannot_be_cloned_is_refused(tmp_path: Path) -> None:
    """With the source as it was."""
    table = begun(tmp_path)
    clone(table, "m.c", tmp_path)
    for taken in ("m.c", "m.t"):
        with pytest.raises(AlreadyExistsError, match="already exists"):
            clone(table, taken, tmp_path)
    with pytest.raises(NotFoundError):
        arctic.clone("m.none", "m.d", warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError):
        arctic.clone("m.t", "d", warehouse=str(tmp_path))
    sql = f"SELECT id, sum(n) AS n FROM {table.name} GROUP BY id"
    arctic.materialize(sql, "m.v", warehouse=str(tmp_path))
    with pytest.raises(UnsupportedError, match="view"):
        arctic.clone("m.v", "m.d", warehouse=str(tmp_path))


def test_a_table_that_cannot_be_read_may_be_a_clone(tmp_path: Path) -> None:
    """Then the files of a table that was cloned stay, and it is not purged."""
    table = begun(tmp_path)
    clone(table, "m.c", tmp_path)
    store = catalog_table(tmp_path, "m.c")
    before = set(tmp_path.glob("m/t*/data/*.parquet"))
    Path(urlparse(store.metadata_location).path).rename(tmp_path / "away")
    table.optimize(type="full")
    report = table.expire(options=ALL)
    assert "cannot be read" in str(report.notes)
    assert before <= set(tmp_path.glob("m/t*/data/*.parquet"))
    with pytest.raises(InvalidInputError, match=r"may be a clone|was cloned"):
        arctic.drop_table("m.t", purge=True, warehouse=str(tmp_path))


def test_a_view_of_another_engine_is_no_table_that_may_be_a_clone(tmp_path: Path) -> None:
    """It stands in the same database, and its metadata is that of a view."""
    source = begun(tmp_path)
    clone(source, "m.c", tmp_path)
    add_view(tmp_path, "m", "v")
    arctic.drop_table("m.c", purge=True, warehouse=str(tmp_path))

    arctic.drop_table("m.t", purge=True, warehouse=str(tmp_path))

    assert arctic.list_tables(warehouse=str(tmp_path)) == []


def add_view(folder: Path, namespace: str, name: str) -> None:
    """Make a view as Java does."""
    place = folder / namespace / name
    view = place / "metadata" / f"00000-{uuid4()}.metadata.json"
    view.parent.mkdir(parents=True)
    view.write_text(
        json.dumps({"view-uuid": str(uuid4()), "format-version": 1, "location": f"file://{place}"})
    )
    statement = (
        "insert into iceberg_tables (catalog_name, table_namespace, table_name, metadata_location,"
        " iceberg_type) values ('arctic', ?, ?, ?, 'VIEW')"
    )
    with closing(sqlite3.connect(folder / "catalog.db")) as database, database:
        database.execute(statement, (namespace, name, f"file://{view}"))


@pytest.mark.parametrize("lands", [True, False])
def test_a_registration_that_is_told_of_itself_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    """A client that asks twice is told that the name is taken, by its own table."""
    source = begun(tmp_path, primary_key=())
    register = SqlCatalog.register_table

    def asked_twice(catalog: SqlCatalog, name: Any, location: str, *_: Any) -> None:
        if lands:
            register(catalog, name, location)
        else:
            arctic.create_table(".".join(name), SCHEMA, warehouse=str(tmp_path))
        raise TableAlreadyExistsError(name)

    monkeypatch.setattr(SqlCatalog, "register_table", asked_twice)
    if lands:
        assert rows_of(clone(source, "m.c", tmp_path)) == rows_of(source)
        return
    with pytest.raises(AlreadyExistsError):
        clone(source, "m.c", tmp_path)
    assert rows_of(arctic.open_table("m.c", warehouse=str(tmp_path))) == {}


@pytest.mark.parametrize("seed", range(3))
def test_random_histories_of_a_family(tmp_path: Path, seed: int) -> None:
    """Whatever is written, optimized, cleaned, cloned, published and dropped: rows stay right."""
    draw = random.Random(seed)
    key: Any = "id" if draw.random() < 0.8 else ()
    model: dict[str, dict[str, int]] = {"m.t": {}}
    tables = {"m.t": make(tmp_path, primary_key=key)}
    for number in range(30):
        name = draw.choice(list(tables))
        table, rows = tables[name], model[name]
        verb = draw.choice(["write", "write", "write", "wear", "merge", "clean", "clone", "drop"])
        if verb == "write":
            fresh = {f"{number}": number, **({draw.choice("abc"): number} if key else {})}
            table.write(
                pa.table({"id": list(fresh), "n": list(fresh.values())}, SCHEMA),
                mode="upsert" if key else "append",
            )
            rows |= fresh
        elif verb == "merge":
            table.optimize(type=draw.choice(["minor", "major"]))
        elif verb == "wear":
            wear(table)
        elif verb == "clean":
            table.expire(options=ALL)
        elif verb == "clone" and len(tables) < 5:
            made = f"m.c{number}"
            tables[made] = clone(table, made, tmp_path)
            model[made] = dict(rows)
        elif verb == "drop" and len(tables) > 2:
            try:
                purge = draw.random() < 0.5
                arctic.drop_table(name, purge=purge, warehouse=str(tmp_path))
            except InvalidInputError:
                continue
            del tables[name], model[name]
        for each, expected in model.items():
            assert rows_of(tables[each]) == dict(sorted(expected.items())), (number, verb, name)
    shutil.rmtree(tmp_path)
