"""Tables that a query has opened: one state for all that it asks, the newest for the next one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job import tables_of_queries
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import begin_engine_scan
from arctic.job.rows_seen import rows_seen
from arctic.job.tables_of_queries import TablesOfQueries

NAME = "db.t"
SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A table of one row."""
    arctic.create_table(NAME, SCHEMA, primary_key="id", warehouse=str(tmp_path))
    put(str(tmp_path), 1)
    return str(tmp_path)


def put(warehouse: str, id_: int) -> None:
    """Commit a row."""
    arctic.write(NAME, pa.table({"id": [id_]}), mode="upsert", warehouse=warehouse)


def asked(warehouse: str, query: str | None, path: str = NAME) -> AskedRead:
    """Return a question of a query."""
    return AskedRead.of({"path": path, "warehouse": warehouse}, query=query)


def rows(asked: AskedRead) -> int:
    """Return how many rows the query is given."""
    scan = begin_engine_scan(
        asked, columns=["id"], engine=None, filter_for=lambda _: None, unreached=lambda _: None
    )
    return sum(batch.num_rows for group in scan.groups for batch in scan.reader.read(group))


def test_a_query_has_one_state_of_a_table_and_the_next_one_has_the_newest(warehouse: str) -> None:
    """Whatever is committed while it is planned; who gives no name has the newest each time."""
    assert rows(asked(warehouse, "one")) == 1
    put(warehouse, 2)

    assert rows(asked(warehouse, "one")) == 1
    assert rows(asked(warehouse, "two")) == 2
    assert rows(asked(warehouse, None)) == 2
    put(warehouse, 3)
    assert [rows(asked(warehouse, query)) for query in ("one", "two", None)] == [1, 2, 3]


def test_columns_are_those_with_which_the_query_began(warehouse: str) -> None:
    """A column that is added meanwhile is one of the next query."""
    began = asked(warehouse, "one").opened()
    arctic.evolve_schema(NAME, add={"name": pa.string()}, warehouse=warehouse)

    assert asked(warehouse, "one").opened() is began
    assert asked(warehouse, "two").opened().arrow_schema.names == ["id", "name"]


def test_a_table_is_told_from_others_by_all_that_names_it(tmp_path: Path, warehouse: str) -> None:
    """One of the same name elsewhere, and its own metadata tables."""
    other = str(tmp_path / "other")
    arctic.create_table(NAME, SCHEMA, primary_key="id", warehouse=other)

    found = [
        asked(warehouse, "one").opened(),
        asked(other, "one").opened(),
        asked(warehouse, "one", f"{NAME}.files").opened(),
    ]
    assert len(set(map(id, found))) == 3
    assert found[1].base.metadata.table_uuid != found[0].base.metadata.table_uuid


def test_few_tables_are_held_those_of_the_last_queries(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is not held any more is opened again; each time somebody notes how many rows."""
    monkeypatch.setattr(tables_of_queries, "_MOST_TABLES", 2)
    reference, held = asked(warehouse, None).reference, TablesOfQueries()

    def opened(*queries: str) -> list[OpenTable]:
        return [held.opened(query, reference) for query in queries]

    first, second, again = opened("one", "two", "one")
    assert again is first
    assert opened("three", "one", "two")[1:] != [first, second]
    seen = rows_seen(reference)
    put(warehouse, 2)
    opened("two")
    assert rows_seen(reference) == seen
    opened("four")
    assert seen is not None
    assert rows_seen(reference) == 2 * seen
