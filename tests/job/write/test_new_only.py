"""Modes that only write a table which is not there yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog

ROWS = pa.table({"id": [1, 2, 1], "city": ["Rome", "Oslo", "Bern"]})
OTHERS = pa.table({"id": [3], "city": ["Lima"]})
KEY = {"primaryKey": "id"}


def save(folder: Path, mode: str, data: pa.Table = ROWS, **options: str) -> Any:
    """Write to shop.users in a warehouse."""
    return arctic.write("shop.users", data, mode=mode, options=options, warehouse=str(folder))


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Return what is in the table, sorted."""
    found = arctic.read("shop.users", warehouse=str(folder)).read_all().to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.parametrize("mode", ["error", "errorifexists", "ignore", "Error"])
def test_a_missing_table_is_created_and_written(tmp_path: Path, mode: str) -> None:
    """Its key holds from the first row on: of two rows of a key the last one stays."""
    report = save(tmp_path, mode, **KEY)

    assert report.rows == 3
    assert rows(tmp_path) == [(1, "Bern"), (2, "Oslo")]


@pytest.mark.parametrize("mode", ["error", "errorifexists"])
def test_a_table_that_is_there_is_an_error_that_says_how_to_write_to_it(
    tmp_path: Path, mode: str
) -> None:
    """The table is named, and so are the modes that would do."""
    save(tmp_path, "error", **KEY)
    expected = f"table 'shop.users' already exists, and mode '{mode}' .* expected mode 'upsert'"
    with pytest.raises(AlreadyExistsError, match=expected):
        save(tmp_path, mode, OTHERS)

    assert rows(tmp_path) == [(1, "Bern"), (2, "Oslo")]


def test_ignore_leaves_a_table_as_it_is(tmp_path: Path) -> None:
    """Nothing is read, written or committed."""
    save(tmp_path, "ignore", **KEY)
    report = save(tmp_path, "ignore", OTHERS, **KEY)

    assert (report.rows, report.snapshot_id) == (0, None)
    assert rows(tmp_path) == [(1, "Bern"), (2, "Oslo")]


def test_a_missing_table_without_a_key_says_what_creates_it(tmp_path: Path) -> None:
    """As in every other mode."""
    with pytest.raises(NotFoundError, match="primaryKey"):
        save(tmp_path, "error")


@pytest.mark.parametrize("mode", ["error", "ignore"])
def test_a_table_that_cannot_be_made_is_not_taken_for_one_that_is_there(
    tmp_path: Path, mode: str
) -> None:
    """The rows would be lost without a word: another table has the name of its change store."""
    arctic.create_table("shop.a", ROWS.schema, primary_key=["id"], warehouse=str(tmp_path))
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
    catalog.create_table("shop.users_change_", ROWS.schema)

    with pytest.raises(AlreadyExistsError, match=r"'shop\.users_change_'"):
        save(tmp_path, mode, **KEY)


def test_a_first_write_that_fails_leaves_no_table(tmp_path: Path) -> None:
    """So the same call can be made again, once its rows are right."""
    wrong = pa.table({"id": pa.array([1, None], pa.int64()), "city": ["Rome", "Oslo"]})
    with pytest.raises(InvalidInputError, match="null"):
        save(tmp_path, "error", wrong, **KEY)

    assert arctic.list_tables(warehouse=str(tmp_path)) == []
    assert list(tmp_path.rglob("*.parquet")) == []
    save(tmp_path, "error", **KEY)
    assert rows(tmp_path) == [(1, "Bern"), (2, "Oslo")]


def test_of_two_first_writes_at_a_time_one_finds_the_table_there(tmp_path: Path) -> None:
    """Never both: the rows of one of them would be added to those of the other."""

    def attempt(data: pa.Table) -> bool:
        try:
            save(tmp_path, "error", data, **KEY)
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        landed = list(pool.map(attempt, [ROWS, OTHERS]))

    assert sorted(landed) == [False, True]
    assert rows(tmp_path) in ([(1, "Bern"), (2, "Oslo")], [(3, "Lima")])
