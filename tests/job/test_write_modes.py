"""What a write does that says no mode, and which table it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError

ROWS = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"]})


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def write(warehouse: str, name: str = "shop.log", /, **arguments: Any) -> None:
    """Write the two rows."""
    arctic.write(name, ROWS, warehouse=warehouse, **arguments)


def ids(warehouse: str, name: str = "shop.log") -> list[int]:
    """Read the keys."""
    found = arctic.read(name, warehouse=warehouse).read_all().column("id").to_pylist()
    return sorted(found)


@pytest.mark.parametrize(("key", "expected"), [(["id"], [1, 2]), ([], [1, 1, 2, 2])])
def test_without_a_mode_the_table_decides(
    warehouse: str, key: list[str], expected: list[int]
) -> None:
    """A keyed one upserts, so no key is there twice; another one appends."""
    users = arctic.create_table("shop.log", ROWS.schema, primary_key=key, warehouse=warehouse)
    users.write(ROWS)
    write(warehouse)

    assert ids(warehouse) == expected


def test_an_append_that_is_asked_for_does_not_look_for_keys(warehouse: str) -> None:
    """As it always did."""
    write(warehouse, options={"primaryKey": "id"})
    write(warehouse, mode="append")

    assert ids(warehouse) == [1, 1, 2, 2]


@pytest.mark.parametrize("mode", [None, "append", "overwrite"])
def test_an_empty_key_makes_a_table_without_one(warehouse: str, mode: str | None) -> None:
    """It may be said again as long as it is true."""
    for _ in range(2):
        write(warehouse, mode=mode, options={"primaryKey": " "})

    assert not arctic.open_table("shop.log", warehouse=warehouse).is_keyed
    assert ids(warehouse) == ([1, 2] if mode == "overwrite" else [1, 1, 2, 2])


@pytest.mark.parametrize("mode", [None, "append", "upsert"])
def test_a_table_is_not_made_by_accident(warehouse: str, mode: str | None) -> None:
    """Both ways to make it are named, and no table whose name is another one is proposed."""
    write(warehouse, "shop.users", options={"primaryKey": "id"})
    with pytest.raises(NotFoundError) as caught:
        write(warehouse, mode=mode)

    assert "did you mean" not in caught.value.message
    assert "primaryKey='column, ...'" in caught.value.message
    assert "primaryKey='' and mode append" in caught.value.message
    assert arctic.list_tables(warehouse=warehouse) == ["shop.users"]


@pytest.mark.parametrize(
    ("mode", "options"),
    [("upsert", {}), ("delete", {}), (None, {"ordering-column": "id"})],
    ids=["upsert", "delete", "ordering column"],
)
def test_what_needs_a_key_makes_no_table_without_one(
    warehouse: str, mode: str | None, options: dict[str, str]
) -> None:
    """The table would be there, empty, and the write refused."""
    write(warehouse, "shop.users", options={"primaryKey": "id"})
    with pytest.raises(InvalidInputError, match="name the key columns"):
        write(warehouse, mode=mode, options={"primaryKey": "", **options})

    assert arctic.list_tables(warehouse=warehouse) == ["shop.users"]


def test_an_empty_key_is_refused_where_the_table_has_one(warehouse: str) -> None:
    """Nothing is written."""
    write(warehouse, options={"primaryKey": "id"})
    with pytest.raises(InvalidInputError, match="exists with key 'id'"):
        write(warehouse, mode="append", options={"primaryKey": ""})

    assert ids(warehouse) == [1, 2]
