"""What a MERGE reads of its table: no file in which nothing can be that its source matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.job.sought import sought_rows
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Rows, Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
COUNT = "WHEN MATCHED THEN UPDATE SET n = t.n + coalesce(s.n, 0)"
FAR = 5_000


class Far:
    """A table with rows of small keys in one commit, and rows of great keys in another."""

    def __init__(self, sql: Sql, columns: str) -> None:
        self.sql, self._warehouse = sql, Path(sql.warehouse)
        sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} {columns}")
        sql(f"INSERT INTO {T} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
        near = set(self._warehouse.rglob("*.parquet"))
        sql(f"INSERT INTO {T} VALUES ({FAR}, 'z', 9), ({FAR + 1}, 'y', 8)")
        self._far = sorted(set(self._warehouse.rglob("*.parquet")) - near)
        assert self._far

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Take the files with great keys away for a time."""
        for path in self._far:
            path.rename(path.with_suffix(".aside"))
        try:
            yield
        finally:
            for path in self._far:
                path.with_suffix(".aside").rename(path)

    def merged(self, statement: str) -> Rows:
        """Return the rows of small keys after a statement that can open no others."""
        with self.gone():
            self.sql(statement)
        rows = sorted(self.sql(f"SELECT * FROM {T}"))
        assert rows[-2:] == [(FAR, "z", 9), (FAR + 1, "y", 8)]
        return rows[:-2]


@pytest.fixture(autouse=True)
def cheap(sql: Sql) -> Iterator[None]:
    """Have few rows cost little."""
    with small_plans(sql.spark):
        yield


KEYED = "(id INT, v STRING, n BIGINT, PRIMARY KEY (id))"
PLAIN = "(id INT, v STRING, n BIGINT)"
VALUES = "(SELECT * FROM VALUES (2, 10L), (3, 20L) v(id, n))"


def test_values_of_a_statement_say_which_rows_are_read(sql: Sql) -> None:
    """Of the key or another column, as another type, and with nulls among them."""
    far = Far(sql, KEYED)

    assert far.merged(f"MERGE INTO {T} t USING {VALUES} s ON t.id = s.id {COUNT}") == [
        (1, "a", 1),
        (2, "b", 12),
        (3, "c", 23),
    ]
    for source, on in (
        ("(SELECT * FROM VALUES (2L, 1L), (9L, 1L) v(id, n))", "t.id = s.id"),
        ("(SELECT * FROM VALUES (2S, 1L), (null, 1L) v(id, n))", "s.id <=> t.id"),
        ("(SELECT 2 AS id, 1L AS n)", "t.id = s.id AND t.n < 100"),
        ("(SELECT * FROM VALUES ('b', 1L), (null, 1L) v(v, n))", "t.v = s.v"),
        ("(SELECT id, 1L AS n FROM range(2, 3) r(id))", "t.id = s.id"),
        ("(SELECT CAST(null AS INT) AS id, 1L AS n)", "t.id = s.id"),
    ):
        before = sql(f"SELECT n FROM {T} WHERE id = 2")[0][0]
        rows = far.merged(f"MERGE INTO {T} t USING {source} s ON {on} {COUNT}")
        more = 0 if "CAST(null" in source else 1
        assert rows == [(1, "a", 1), (2, "b", before + more), (3, "c", 23)], source


def test_every_clause_meets_the_rows_that_its_source_can_match(sql: Sql) -> None:
    """With a key and without one; rows that no row of the source matches are read for a clause."""
    for columns in (KEYED, PLAIN):
        far = Far(sql, columns)
        source = "(SELECT * FROM VALUES (1, 'A', 5L), (2, 'B', 6L), (7, 'G', 7L) v(id, v, n))"
        merge = f"MERGE INTO {T} t USING {source} s ON t.id = s.id "

        rows = far.merged(
            merge
            + "WHEN MATCHED AND s.n = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + s.n "
            "WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, s.v, s.n)"
        )
        assert rows == [(2, "b", 8), (3, "c", 3), (7, "G", 7)]
        new = merge + "WHEN NOT MATCHED THEN INSERT *"
        if columns is KEYED:
            sql(new)  # Whether a key is new is looked up by whoever writes, too.
        else:
            far.merged(new)
        assert sorted(sql(f"SELECT * FROM {T}"))[:4] == [
            (1, "A", 5),
            (2, "b", 8),
            (3, "c", 3),
            (7, "G", 7),
        ]
        if columns is KEYED:
            sql(merge + "WHEN MATCHED AND s.id = 7 THEN UPDATE SET id = 8")
            assert (8, "G", 7) in sql(f"SELECT * FROM {T}")
        sql(merge + "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED BY SOURCE THEN DELETE")
        assert [row[0] for row in sorted(sql(f"SELECT * FROM {T}"))] == (
            [1, 2] if columns is KEYED else [1, 2, 7]
        )


def _view(sql: Sql, tmp_path: Path) -> str:
    frame = sql.spark.createDataFrame([(2, 10), (3, 20), (None, 1)], "id int, n long")
    frame.createOrReplaceTempView("read_frame")
    return "read_frame"


def _files(sql: Sql, tmp_path: Path) -> str:
    pq.write_table(pa.table({"id": pa.array([2, 3], pa.int32()), "n": [10, 20]}), tmp_path / "s")
    sql.spark.read.parquet(str(tmp_path / "s")).createOrReplaceTempView("read_files")
    return "read_files"


def _table(sql: Sql, tmp_path: Path) -> str:
    sql(
        "CREATE OR REPLACE TABLE arctic.shop.s (id INT, n BIGINT)",
        "INSERT INTO arctic.shop.s VALUES (2, 10), (3, 5), (3, 15)",
    )
    return "(SELECT id, sum(n) AS n FROM arctic.shop.s GROUP BY id)"


@pytest.mark.parametrize("made", [_view, _files, _table])
def test_a_small_source_is_read_before_the_table(
    sql: Sql, tmp_path: Path, made: Callable[[Sql, Path], str]
) -> None:
    """A frame, files and a table say by their rows which ones of the target are read."""
    source = made(sql, tmp_path)

    for columns in (KEYED, PLAIN):
        far = Far(sql, columns)
        merge = f"MERGE INTO {T} t USING {source} s ON t.id = s.id "
        assert far.merged(merge + COUNT) == [(1, "a", 1), (2, "b", 12), (3, "c", 23)]
        rows = far.merged(merge + "WHEN MATCHED AND s.n > 15 THEN DELETE")
        assert rows == [(1, "a", 1), (2, "b", 12)]


def test_a_source_of_many_rows_says_between_which_keys_they_are(
    sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to some thousand rows are read for it; more by tasks, where the table is large enough."""
    monkeypatch.setattr(sought_rows, "_MOST_SHARE", 1e9)
    for rows, least, is_read in ((3_000, 2**30, True), (40_000, 2**30, False), (40_000, 0, True)):
        monkeypatch.setattr(sought_rows, "LEAST_BYTES", least)
        far = Far(sql, KEYED)
        frame = sql.spark.range(4 - rows, 4).selectExpr("CAST(id + 0 AS INT) AS id", "1L AS n")
        frame.createOrReplaceTempView("many")
        merge = f"MERGE INTO {T} t USING many s ON t.id = s.id {COUNT}"
        if is_read:
            assert far.merged(merge) == [(1, "a", 2), (2, "b", 3), (3, "c", 4)]
        else:
            with far.gone():
                assert "aside" not in sql.refused(merge)
            sql(merge)
            assert sorted(sql(f"SELECT * FROM {T}"))[0] == (1, "a", 2)


def test_several_rows_of_a_small_source_for_one_are_refused(sql: Sql) -> None:
    """They are not made one by what is asked of the table."""
    far = Far(sql, KEYED)
    twice = sql.spark.createDataFrame([(1, 1), (1, 2)], "id int, n long")
    twice.createOrReplaceTempView("twice")
    with far.gone():
        said = sql.refused(f"MERGE INTO {T} t USING twice s ON t.id = s.id {COUNT}")
    assert "MERGE_CARDINALITY_VIOLATION" in said


def test_a_source_that_is_made_of_the_table_is_read_with_it(sql: Sql) -> None:
    """It is of the state that is changed, though Spark has cached another one of it."""
    Far(sql, KEYED)
    sql.spark.sql(f"SELECT id, n FROM {T} WHERE id < 3").createOrReplaceTempView("own")
    sql("CACHE TABLE own", "SELECT count(*) FROM own")
    arctic.open_table("shop.t").update(where="id = 1", set={"n": 50})

    sql(f"MERGE INTO {T} t USING own s ON t.id = s.id {COUNT}")
    sql("UNCACHE TABLE own", "DROP VIEW own")

    assert sorted(sql(f"SELECT id, n FROM {T}"))[:3] == [(1, 100), (2, 4), (3, 3)]
