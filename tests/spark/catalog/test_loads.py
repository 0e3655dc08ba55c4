"""Statements that fill a table out of Parquet files in the order of its key."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.job.write.loads.write_rising import write_rising
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
SMALL = "'self-optimizing.target-size' = '1kb'"
"""No file is a fragment then: as many tasks as can be."""
KEYED = f"TBLPROPERTIES (primaryKey = 'id', {SMALL})"
ALL_TASKS = {1, 2, 3, 4, 5, 6}
"""Three for each of two cores, each with files in all nodes. Shuffled rows of a node have one."""
HALF = 22_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files, the later rows in the first of them; more bytes than one task would write."""
    folder = tmp_path_factory.mktemp("in")
    random = np.random.default_rng(7)
    for number in range(2):
        ids = pa.array(np.arange(HALF) + (1 - number) * HALF)
        letters = random.integers(ord("A"), ord("z"), (HALF, 100), np.uint8)
        texts = pa.array(letters.view("S100").ravel()).cast(pa.string())
        rows = pa.table({"id": ids, "region": texts, "n": ids})
        pq.write_table(rows, folder / f"{number}.parquet", row_group_size=5_000)
    return folder


@pytest.fixture
def given(sql: Sql, folder: Path) -> Iterator[pa.Table]:
    """Return the rows of view ``given``, which are the files."""
    sql.spark.read.parquet(str(folder)).createOrReplaceTempView("given")
    yield pq.read_table(folder).sort_by("id")
    sql.spark.catalog.dropTempView("given")


def _stored(table: str = "shop.t") -> pa.Table:
    return arctic.read(table).read_all().sort_by("id")


def _tasks(kind: str, table: str = "shop.t") -> set[int]:
    """Return the tasks that wrote the files of a kind."""
    paths = arctic.open_table(table).inspect("files").column("path").to_pylist()
    names = [Path(path).name.split("-") for path in paths]
    return {int(name[3]) for name in names if name[1] == kind}


_New = Callable[[Sql], Any]
_MADE: dict[str, _New] = {
    "CREATE": lambda sql: sql(f"CREATE TABLE {T} {KEYED} AS SELECT * FROM given"),
    "CREATE OR REPLACE": lambda sql: sql(
        f"CREATE OR REPLACE TABLE {T} {KEYED} AS SELECT n AS id, region, id AS n FROM given"
    ),
    "writeTo().replace": lambda sql: (
        sql.spark.table("given")
        .writeTo(T)
        .tableProperty("primaryKey", "id")
        .tableProperty("self-optimizing.target-size", "1kb")
        .replace()
    ),
    "INSERT OVERWRITE": lambda sql: sql(f"INSERT OVERWRITE {T} SELECT * FROM given"),
    "INSERT OVERWRITE of other names": lambda sql: sql(
        f"INSERT OVERWRITE {T} SELECT n AS a, region AS b, id AS c FROM given"
    ),
    "overwritePartitions": lambda sql: sql.spark.table("given").writeTo(T).overwritePartitions(),
    "saveAsTable": lambda sql: sql.spark.table("given").write.mode("overwrite").saveAsTable(T),
}


def test_what_fills_a_table_is_written_where_it_is_read(sql: Sql, given: pa.Table) -> None:
    """By each statement that leaves these rows and no other, in one commit of base."""
    for name, fill in _MADE.items():
        before = 0 if "CREATE" in name or name.endswith("replace") else sql.commits("shop.t")

        fill(sql)

        assert _tasks("B") == ALL_TASKS, name
        assert _stored().equals(given.cast(_stored().schema)), name
        assert sql.commits("shop.t") == before + 1, name
        assert not _tasks("I"), name
    sql(f"CREATE TABLE {T}2 {KEYED} AS SELECT * FROM given WHERE id >= 0")
    assert len(_tasks("B", "shop.t2")) < len(ALL_TASKS)
    assert _stored("shop.t2").equals(_stored())


def test_the_first_rows_of_a_table_are_inserts_to_readers_of_its_changes(
    sql: Sql, given: pa.Table
) -> None:
    """They may have begun before there was a row; later rows may be of keys that are there."""
    columns = "(id BIGINT NOT NULL, region STRING, n BIGINT NOT NULL, PRIMARY KEY (id))"
    sql(f"CREATE TABLE {T} {columns} TBLPROPERTIES ({SMALL})")
    begun = arctic.consumer("shop.t", "reader")

    sql(f"INSERT INTO {T} SELECT * FROM given")

    assert (_tasks("I"), _tasks("ED"), _tasks("B")) == (ALL_TASKS, set(), set())
    assert _stored().equals(given.cast(_stored().schema))
    reader = begun.read()
    assert reader is not None
    told = reader.read_all()
    assert set(told["_change_action"].to_pylist()) == {"+I"}
    assert sorted(told["id"].to_pylist()) == given["id"].to_pylist()
    sql(f"INSERT INTO {T} SELECT id, region, id + 1 FROM given")
    assert _tasks("ED")
    assert _stored()["n"].to_pylist() == [each + 1 for each in given["id"].to_pylist()]


def test_first_rows_are_held_against_those_that_came_before_them(
    sql: Sql, given: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a key that others have written meanwhile one row stays, as ever."""
    sql(f"CREATE TABLE {T} (id BIGINT, region STRING, n BIGINT) {KEYED}")

    def late(job: Any, *arguments: Any) -> bool:
        arctic.write("shop.t", pa.table({"id": [7], "region": ["old"], "n": [0]}))
        return write_rising(job, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr("arctic.spark.write.frame_files.write_rising", late)
        sql(f"INSERT INTO {T} SELECT * FROM given")

    assert _stored().equals(given.cast(_stored().schema))
    assert sql.commits("shop.t") == 2
    files = {path.name for path in Path(sql.warehouse).rglob("*-I-*.parquet")}
    paths = arctic.open_table("shop.t").inspect("files").column("path").to_pylist()
    assert files == {Path(path).name for path in paths if "-I-" in path}


def _fails(sql: Sql, folder: Path, statement: str, *words: str) -> None:
    sql.spark.read.parquet(str(folder)).createOrReplaceTempView("given")
    error = sql.refused(statement)
    assert all(word in error for word in words), error


_CREATE = f"CREATE TABLE {T} {KEYED} AS SELECT * FROM given"
_REPLACE = f"CREATE OR REPLACE TABLE {T} {KEYED} AS SELECT * FROM given"
_INSERT = f"INSERT OVERWRITE {T} SELECT * FROM given"


def test_a_load_that_fails_leaves_what_was_there(
    sql: Sql, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table, or the old one: a file is gone once the tasks begin, or a key is missing."""
    lost = tmp_path / "lost"
    nulls = shutil.copytree(folder, tmp_path / "nulls")
    rows = pq.read_table(nulls / "0.parquet")
    ids = pa.array([None, *rows["id"].to_pylist()[1:]], pa.int64())
    pq.write_table(rows.set_column(0, "id", ids), nulls / "0.parquet", row_group_size=5_000)

    def late(job: Any, *arguments: Any) -> bool:
        (lost / "1.parquet").unlink()
        return write_rising(job, *arguments)

    def fails(statement: str) -> None:
        _fails(sql, nulls, statement, "null", "id")
        with monkeypatch.context() as patched:
            patched.setattr("arctic.spark.write.frame_files.write_rising", late)
            _fails(sql, Path(shutil.copytree(folder, lost)), statement, "lost/1.parquet")
        shutil.rmtree(lost)

    fails(_CREATE)
    assert arctic.list_tables("shop") == []
    assert not list(Path(sql.warehouse).rglob("*.parquet"))
    sql(
        f"CREATE TABLE {T} (id BIGINT NOT NULL, region STRING, n BIGINT, PRIMARY KEY (id))",
        f"INSERT INTO {T} VALUES (1, 'eu', 2)",
    )
    for statement in (_REPLACE, _INSERT):
        fails(statement)
        assert sql.rows("shop.t") == [(1, "eu", 2)]
    assert arctic.list_tables("shop") == ["shop.t"]
