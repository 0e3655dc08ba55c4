"""Reads of which an engine may carry out a part: whoever does, each row is read once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import EngineScan, begin_engine_scan
from arctic.job.read.engine_share import Engine
from arctic.job.read.engine_work import engine_work
from arctic.job.vectors.vector_work import look_up
from arctic.table.files import TableFile
from arctic.table.filters.predicate import ColumnTest, Op, Predicate
from arctic.table.table_description import TableDescription
from tests.factories.engines import ABLE

NAME = "db.t"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A table of merged rows, a few of them replaced since, and a few deleted."""
    folder = str(tmp_path)
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], warehouse=folder)
    put(folder, range(100), "overwrite")
    put(folder, range(0, 100, 10), "upsert")
    put(folder, range(0, 100, 25), "delete")
    return folder


def put(folder: str, ids: range, mode: str) -> None:
    """Write rows."""
    rows = pa.table([list(ids), [mode] * len(ids)], schema=SCHEMA)
    arctic.write(
        NAME, rows if mode != "delete" else rows.select(["id"]), mode=mode, warehouse=folder
    )


def scan(
    warehouse: str,
    engine: Engine | None = ABLE,
    *,
    path: str = NAME,
    key: int | None = None,
    columns: tuple[str, ...] = ("id", "name"),
    **options: str,
) -> EngineScan:
    """Plan as an engine does that asks."""

    def filter_for(table: TableDescription) -> Predicate | None:
        if key is None:
            return None
        column = table.key_columns[0]
        return ColumnTest(op=Op.EQ, field_id=column.field_id, column=column.name, literal=key)

    given = {"path": path, "warehouse": warehouse, "read.deletion-vector.min-rows": "1"}
    return begin_engine_scan(
        AskedRead.of({**given, **options}),
        columns=columns,
        engine=engine,
        filter_for=filter_for,
        unreached=lambda _: None,
    )


def rows(planned: EngineScan, groups: Any = None) -> list[tuple[int, str]]:
    """Read groups, all of them unless told otherwise."""
    taken = planned.groups if groups is None else groups
    batches = [batch for group in taken for batch in planned.reader.read(group)]
    return sorted((row["id"], row["name"]) for batch in batches for row in batch.to_pylist())


def stored(file: TableFile, *, alive: npt.NDArray[np.bool_]) -> list[tuple[int, str]]:
    """Read the rows of a file that are alive, by their places."""
    found = pq.read_table(file.path.removeprefix("file://")).filter(pa.array(alive))
    return [(row["id"], row["name"]) for row in found.to_pylist()]


def test_an_engine_and_arctic_read_the_same_rows(warehouse: str) -> None:
    """The engine by numbers of rows, Arctic by merging all groups, or those that are left."""
    planned = scan(warehouse)
    work = engine_work(planned)
    assert planned.shared is not None
    assert work is not None

    own = []
    for file, dead in zip(planned.shared.dirty_files, look_up(work), strict=True):
        own += stored(file, alive=~dead.slice(0, file.record_count))
    for file in planned.shared.files[len(planned.shared.dirty_files) :]:
        own += stored(file, alive=np.ones(file.record_count, dtype=bool))
    left = rows(planned, planned.groups[: planned.shared.merged])

    assert sorted(own + left) == rows(planned) == rows(scan(warehouse, None))
    assert len(own) > 50


@pytest.mark.parametrize(
    "engine",
    [None, replace(ABLE, reads_files=False)],
    ids=["nothing is said", "it reads no files"],
)
def test_an_engine_that_reads_nothing_gets_groups_alone(
    warehouse: str, engine: Engine | None
) -> None:
    """All of them must be merged."""
    planned = scan(warehouse, engine)

    assert planned.shared is not None
    assert (planned.shared.files, engine_work(planned)) == ((), None)
    assert planned.shared.merged == len(planned.groups)


def test_a_filter_is_said_in_the_columns_of_the_table(warehouse: str) -> None:
    """The engine is spared the other rows."""
    planned = scan(warehouse, key=10)

    assert (10, "upsert") in rows(planned)
    assert len(rows(planned)) < 90


def test_a_metadata_table_shares_nothing_and_takes_no_filter(warehouse: str) -> None:
    """It has no data files, and other columns."""
    planned = scan(warehouse, path=f"{NAME}.snapshots", key=10, columns=("store",))

    assert planned.shared is None
    assert sum(batch.num_rows for batch in planned.reader.read(planned.groups[0])) == 3


def test_where_rows_are_stored_is_said_here(tmp_path: Path) -> None:
    """No file has such a column: an engine would find null, and change no row or a wrong one."""
    folder = str(tmp_path)
    arctic.create_table(NAME, SCHEMA, warehouse=folder)
    put(folder, range(3), "append")

    planned = scan(folder, columns=("id", "_arctic_file", "_arctic_position"))

    assert planned.shared is not None
    assert planned.shared.files == ()
    assert planned.shared.hindrance is not None
    assert planned.shared.hindrance.startswith("column '_arctic_file': no file has it")
    found = pa.Table.from_batches(
        [batch for group in planned.groups for batch in planned.reader.read(group)]
    )
    assert found.column("_arctic_file").null_count == 0
    assert found.column("_arctic_position").to_pylist() == [0, 1, 2]
    plain = scan(folder).shared
    assert plain is not None
    assert len(plain.files) == 1


def test_a_few_rows_end_each_task_early(warehouse: str) -> None:
    """And no key is looked up for them; a filter of the engine takes that back."""
    few = replace(ABLE, limit=2)

    assert engine_work(scan(warehouse, few)) is None
    planned = scan(warehouse, few)
    assert all(len(rows(planned, [group])) <= 2 for group in planned.groups)
    assert len(rows(scan(warehouse, replace(few, is_filtered=True)))) == 96


def test_scans_of_a_query_read_one_state(warehouse: str) -> None:
    """What the first one has pinned."""
    first = scan(warehouse)
    put(warehouse, range(100, 110), "upsert")
    assert first.shared is not None

    pinned = scan(warehouse, replace(ABLE, snapshot=first.shared.snapshot))

    assert rows(pinned) == rows(first)
    assert len(rows(scan(warehouse))) == len(rows(first)) + 10
