"""DELETE, UPDATE and MERGE of tables without a key: rows are known by where they are stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.write.commit_write import commit_write
from arctic.spark.write.write_frame import write_frame
from tests.spark.catalog.sql import Rows, Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"


class Keyless:
    """The table ``t`` without a key, told in statements about ``{t}``."""

    def __init__(self, sql: Sql) -> None:
        self.sql = sql

    def begin(self, columns: str, *values: str) -> None:
        """Make it anew; each of ``values`` is a file."""
        self.sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} {columns}")
        self.sql(*(f"INSERT INTO {T} VALUES {each}" for each in values))

    @property
    def rows(self) -> Rows:
        """As Spark and a reader without it see them."""
        found = sorted(self.sql(f"SELECT * FROM {T}"), key=repr)
        assert repr(found) == repr(self.sql.rows("shop.t"))
        # NaN equals nothing.
        return [tuple("nan" if each != each else each for each in row) for row in found]

    def once(self, statement: str) -> Rows:
        """Run a statement that makes one commit, and return the rows after it."""
        before = self.sql.commits("shop.t")
        self.sql(statement.format(t=T))
        assert self.sql.commits("shop.t") == before + 1, statement
        return self.rows

    def refused(self, statement: str) -> str:
        """Return the error of a statement, which has left the table as it was."""
        before, rows = self.sql.commits("shop.t"), self.rows
        said = self.sql.refused(statement.format(t=T))
        assert (self.sql.commits("shop.t"), self.rows) == (before, rows)
        return said


@pytest.fixture
def table(sql: Sql) -> Keyless:
    """In a warehouse of its own."""
    return Keyless(sql)


def test_rows_are_told_apart_by_nothing_but_their_place(table: Keyless) -> None:
    """Rows that are equal, nulls and NaN; in every clause, over and over."""
    table.begin(
        "(id INT, x DOUBLE, s STRING)",
        "(1, 1D, 'a'), (1, 1D, 'a'), (null, double('NaN'), null), (2, -0D, 'b')",
        "(1, 1D, 'a'), (3, 3D, 'c'), (4, null, 'd')",
    )
    assert len(table.once("UPDATE {t} SET s = 'n' WHERE id IS NULL")) == 7
    assert table.once("DELETE FROM {t} WHERE id + 1 = 2") == [
        (2, -0.0, "b"),
        (3, 3.0, "c"),
        (4, None, "d"),
        (None, "nan", "n"),
    ]
    table.once("UPDATE {t} SET x = id, id = id * 10 WHERE NOT isnan(x)")
    merge = (
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (20, 'D'), (30, 'U'), (50, 'N'), (50, 'N') "
        "v(id, op)) s ON t.id = s.id "
    )
    rows = table.once(
        merge + "WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET s = upper(t.s) "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, s.op) "
        "WHEN NOT MATCHED BY SOURCE AND t.id IS NULL THEN UPDATE SET x = 0 "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert rows == [(30, 3.0, "C"), (50, None, "N"), (50, None, "N"), (None, 0.0, "n")]
    assert (
        len(table.once(merge + "WHEN NOT MATCHED AND s.op = 'D' THEN INSERT (id) VALUES (1)")) == 5
    )
    said = table.refused(
        merge.replace("t.id = s.id", "t.id < s.id") + "WHEN MATCHED THEN UPDATE SET x = 9"
    )
    assert "MERGE_CARDINALITY_VIOLATION" in said
    assert table.once("UPDATE {t} SET s = 'all'")[0][2] == "all"
    arctic.optimize("shop.t", type="full")
    before = table.rows
    assert (
        len(table.once("DELETE FROM {t} WHERE id IN (SELECT max(id) FROM {t})")) == len(before) - 2
    )
    assert table.sql(f"SELECT count(*) FROM {T}") == [(len(before) - 2,)]


def test_rows_move_between_partitions_and_columns_change(table: Keyless) -> None:
    """By transforms too; rows of files that lack a column have null in it."""
    table.begin(
        "(id INT NOT NULL, region STRING, at DATE) PARTITIONED BY (region, days(at))",
        "(1, 'eu', DATE '2024-01-01'), (2, 'eu', null), (3, null, null)",
        "(4, 'us', DATE '2024-01-02')",
    )
    moved = "UPDATE {t} SET region = 'us', at = DATE '2024-01-02' WHERE id < 3"
    assert [row[:2] for row in table.once(moved)] == [(1, "us"), (2, "us"), (3, None), (4, "us")]
    table.sql(
        f"ALTER TABLE {T} RENAME COLUMN region TO area", f"ALTER TABLE {T} ADD COLUMN n BIGINT"
    )
    assert table.once("UPDATE {t} SET n = id WHERE area IS NULL OR n IS NOT NULL")[2][3] == 3
    table.sql(f"ALTER TABLE {T} ALTER COLUMN id TYPE BIGINT")
    merge = "MERGE INTO {t} t USING (SELECT 4L AS id, 'af' AS area) s ON t.id = s.id "
    assert table.once(merge + "WHEN MATCHED THEN UPDATE SET area = s.area")[3][:2] == (4, "af")
    assert "NOT_NULL_ASSERT_VIOLATION" in table.refused("UPDATE {t} SET id = null")
    assert [row[0] for row in table.once("DELETE FROM {t} WHERE coalesce(n, id) > 2")] == [1, 2]
    table.begin("(_arctic_file INT)", "(1)")
    assert "reserved" in table.refused("DELETE FROM {t} WHERE _arctic_file + 0 = 1")


def test_where_rows_are_stored_is_told_by_reading_them(table: Keyless) -> None:
    """It is no column of which metadata knows anything."""
    table.begin("(id INT)", "(1), (2), (3)", "(4)")

    places = table.sql(f"SELECT _arctic_file, _arctic_position FROM {T}")
    files, positions = zip(*places, strict=True)
    assert table.sql(f"SELECT max(_arctic_position) FROM {T}") == [(max(positions),)]
    assert table.sql(f"SELECT min(_arctic_file), count(_arctic_position), max(id) FROM {T}") == [
        (min(files), 4, 4)
    ]


def test_a_command_is_as_if_it_ran_alone(table: Keyless, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others append, delete or optimize while it runs is seen, or it is a conflict."""
    table.begin("(id INT, n INT)", "(1, 1), (2, 2)", "(3, 3)")
    others: list[Callable[[], Any]] = []

    def slow(frame: Any, job: Any) -> Any:
        if others:
            thread = threading.Thread(target=others.pop())
            thread.start()
            thread.join()
        return write_frame(frame, job)

    monkeypatch.setattr("arctic.spark.catalog.row_level.write_frame", slow)

    def append() -> None:
        arctic.write("shop.t", pa.table({"id": [4], "n": [1]}))

    merge = f"MERGE INTO {T} t USING (SELECT 4 AS id, 0 AS n) s ON t.id = s.id "
    others.append(append)
    table.sql(f"UPDATE {T} SET n = n + 10 WHERE n < 2")
    assert table.rows == [(1, 11), (2, 2), (3, 3), (4, 11)]
    others.append(lambda: arctic.optimize("shop.t", type="full"))
    table.sql(f"DELETE FROM {T} WHERE n + 0 = 2")
    assert table.rows == [(1, 11), (3, 3), (4, 11)]
    others.append(lambda: arctic.open_table("shop.t").delete("id = 3"))
    table.sql(f"UPDATE {T} SET n = 0 WHERE id + 0 >= 3")
    assert table.rows == [(1, 11), (4, 0)]
    arctic.open_table("shop.t").delete("id = 4")
    others.append(append)
    table.sql(merge + "WHEN NOT MATCHED THEN INSERT *")
    assert table.rows == [(1, 11), (4, 1)]

    def late(job: Any, results: Any) -> Any:
        append()
        return commit_write(job, results)

    with monkeypatch.context() as patched:
        patched.setattr("arctic.spark.write.write_frame.commit_write", late)
        assert "run it again" in table.sql.refused(f"DELETE FROM {T} WHERE id % 3 = 1 AND n < 5")
    table.sql(f"CACHE TABLE {T}", merge + "WHEN NOT MATCHED THEN INSERT *")
    table.sql(f"UNCACHE TABLE {T}", merge + "WHEN MATCHED THEN DELETE")
    assert table.rows == [(1, 11)]


def test_a_command_is_done_once_however_often_rows_move(
    table: Keyless, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found again where optimizing has put them, equal ones each by itself."""
    table.begin("(id INT, n INT)", "(1, 1), (1, 1), (2, null)", "(2, null), (3, 3)")
    count = 0

    def late(job: Any, results: Any) -> Any:
        nonlocal count
        count += 1
        thread = threading.Thread(target=_moved)
        thread.start()
        thread.join()
        return commit_write(job, results)

    monkeypatch.setattr("arctic.spark.write.write_frame.commit_write", late)
    table.sql(f"UPDATE {T} SET n = 5 WHERE id = 2 AND coalesce(n, 0) = 0")
    table.sql(f"DELETE FROM {T} WHERE id = 3 AND n + 0 = 3")
    merge = f"MERGE INTO {T} t USING (SELECT 1 AS id, 6 AS n) s ON t.id = s.id AND t.n = 1 "
    table.sql(merge + "WHEN MATCHED THEN UPDATE SET n = t.n + s.n")
    assert table.rows == [(1, 7), (1, 7), (2, 5), (2, 5)]
    assert count == 3


def _moved() -> None:
    arctic.optimize("shop.t", type="full")
