"""Tables that were released, and are adopted once more: by which key, and who may still follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.iceberg.plain_readers import plain_catalog

SCHEMA = pa.schema([("id", pa.int64()), ("code", pa.int64()), ("n", pa.int64())])
NODES = {"base.file-index.hash-bucket": "4", "change.file-index.hash-bucket": "4"}
COUNT = 400
NOW = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}


def rows(n: int) -> pa.Table:
    """Return rows of every key, of which two columns tell them apart."""
    ids = list(range(COUNT))
    return pa.table({"id": ids, "code": [each + 1 for each in ids], "n": [n] * COUNT}, SCHEMA)


def released(folder: Path, *, key: list[str]) -> None:
    """Make a table of four nodes, and a plain one of it."""
    table = arctic.create_table(
        "m.t", SCHEMA, primary_key=key, properties=NODES, warehouse=str(folder)
    )
    table.write(rows(1), mode="overwrite")
    table.optimize(type="full")
    arctic.release("m.t", warehouse=str(folder))


def adopted(folder: Path, *key: str, **arguments: Any) -> arctic.Table:
    """Adopt the table."""
    return arctic.adopt("m.t", primary_key=list(key), warehouse=str(folder), **arguments)


def check_upserts(table: arctic.Table, key: str) -> None:
    """Every row is found by its key, and replaced."""
    for number in range(1, 9):
        assert table.read(filter=f"{key} = {number}").read_all().num_rows == 1
    table.write(rows(2).rename_columns(table.schema.names), mode="upsert")
    assert table.read().read_all()["n"].to_pylist() == [2] * COUNT


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("key", [["code"], ["code", "id"], ["id"]])
def test_another_key_than_that_of_its_files_is_refused(
    tmp_path: Path, key: list[str], checks: bool
) -> None:
    """Names of files say where the rows of a key are; the same columns in another order too."""
    released(tmp_path, key=["id", "code"])
    with pytest.raises(arctic.InvalidInputError, match="another key") as error:
        adopted(tmp_path, *key, check_key=checks)

    assert f"{key}" in str(error.value)
    with plain_catalog(str(tmp_path)) as catalog:
        assert [name for _, name in catalog.list_tables("m")] == ["t"]
    check_upserts(adopted(tmp_path, "id", "code", check_key=checks), "id")


def test_another_key_is_taken_once_another_engine_wrote_the_files_anew(tmp_path: Path) -> None:
    """Their names say nothing of nodes then."""
    released(tmp_path, key=["id"])
    with plain_catalog(str(tmp_path)) as catalog:
        plain = catalog.load_table("m.t")
        with pytest.raises(arctic.InvalidInputError, match="another key"):
            adopted(tmp_path, "code")
        plain.overwrite(plain.scan().to_arrow())
    check_upserts(adopted(tmp_path, "code"), "code")


def test_a_key_that_was_renamed_meanwhile_is_the_same(tmp_path: Path) -> None:
    """Its values are where they were."""
    released(tmp_path, key=["id"])
    with (
        plain_catalog(str(tmp_path)) as catalog,
        catalog.load_table("m.t").update_schema() as update,
    ):
        update.rename_column("id", "number")
    check_upserts(adopted(tmp_path, "number"), "number")


def put(folder: Path, number: int, mode: str = "upsert") -> None:
    """Write a row of a key."""
    given = pa.table({"id": [number], "code": [number], "n": [1]}, SCHEMA)
    arctic.write("m.t", given, mode=mode, warehouse=str(folder))


def ids(folder: Path, name: str) -> list[int]:
    """Return the keys of a table."""
    found = arctic.read(name, warehouse=str(folder)).read_all()
    return sorted(int(each) for each in found["id"].to_pylist())


@pytest.mark.parametrize("changes", [1, 2, 3, 6])
@pytest.mark.parametrize("discards", [False, True])
def test_who_followed_a_table_before_is_told(tmp_path: Path, discards: bool, changes: int) -> None:
    """Later changes have other numbers: not one is passed over, and none is told that is lost."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("m.t", SCHEMA, primary_key="id", **place)
    put(tmp_path, 1, "overwrite")
    put(tmp_path, 2)
    if discards:
        put(tmp_path, 3)
    else:
        arctic.optimize("m.t", type="full", **place)
        arctic.expire("m.t", options=NOW, **place)
    arctic.materialize("SELECT id, n FROM m.t", "m.view", **place)
    options = {"stream-from": "latest"}
    arctic.consumer("m.t", "c", options=options, **place)
    arctic.release("m.t", discard_changes=discards, **place)
    arctic.adopt("m.t", primary_key="id", **place)

    for number in range(11, 11 + changes):
        put(tmp_path, number)
    kept = [1] if discards else [1, 2]
    assert ids(tmp_path, "m.t") == [*kept, *range(11, 11 + changes)]
    with pytest.raises(arctic.NotFoundError, match="is gone"):
        arctic.refresh("m.view", **place)
    consumer = arctic.consumer("m.t", "c", options=options, **place)
    with pytest.raises(arctic.NotFoundError, match="drop it, and begin it anew"):
        consumer.read()
    consumer.drop()
    consumer = arctic.consumer("m.t", "c", options=options, **place)
    put(tmp_path, 99)
    read = consumer.read()
    assert read is not None
    assert set(read.read_all()["id"].to_pylist()) == {99}


def test_states_of_the_life_before_are_gone(tmp_path: Path) -> None:
    """Changes that lay on them are: what is left would lack rows."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table("m.t", SCHEMA, primary_key="id", **place)
    put(tmp_path, 1, "overwrite")
    put(tmp_path, 2)
    past = [int(each) for each in table.refresh().versions()["version"].to_pylist()]
    table.optimize(type="full")
    arctic.release("m.t", **place)
    table = arctic.adopt("m.t", primary_key="id", **place)
    put(tmp_path, 3)

    for version in past:
        with pytest.raises(arctic.NotFoundError):
            arctic.read("m.t", version=version, **place)
    with pytest.raises(arctic.NotFoundError):
        table.refresh().restore(past[-1])
    assert ids(tmp_path, "m.t") == [1, 2, 3]
