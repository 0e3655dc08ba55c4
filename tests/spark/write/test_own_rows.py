"""Rows that are made of the table they are written to, while others write to it too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.errors import ConflictError, UnsupportedError
from arctic.job.write import write_job
from arctic.spark.write import own_rows, save_rows
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
Others = list[Callable[[], Any]]


@pytest.fixture
def sql(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sql:
    """In a warehouse of its own."""
    warehouse = str(tmp_path / "warehouse")
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)
    return Sql(spark, warehouse)


def _beside(number: int, mode: str = "append") -> None:
    arctic.write("shop.t", pa.table({"id": [number], "n": [number]}), mode=mode)


def _begin(sql: Sql, key: str) -> None:
    """A table with two rows of which Spark has cached both; then others append a third."""
    sql(
        f"DROP TABLE IF EXISTS {T}",
        f"CREATE TABLE {T} (id BIGINT NOT NULL, n BIGINT{key})",
        f"INSERT INTO {T} VALUES (1, 1), (2, 2)",
        f"CACHE TABLE {T}",
    )
    assert sql(f"SELECT count(*) FROM {T}") == [(2,)]
    _beside(3)
    assert sql(f"SELECT count(*) FROM {T}") == [(2,)]


SOURCE = f"MERGE INTO {T} t USING (SELECT max(id) AS id, 7L AS n FROM {T}) s ON t.id = s.id "
COMMANDS = {
    f"DELETE FROM {T} WHERE id IN (SELECT max(id) FROM {T})": [(1, 1), (2, 2)],
    f"UPDATE {T} SET n = 0 WHERE id = (SELECT max(id) FROM {T})": [(1, 1), (2, 2), (3, 0)],
    SOURCE + "WHEN MATCHED THEN UPDATE SET n = s.n": [(1, 1), (2, 2), (3, 7)],
    SOURCE + "WHEN MATCHED THEN DELETE": [(1, 1), (2, 2)],
    SOURCE + "WHEN NOT MATCHED THEN INSERT *": [(1, 1), (2, 2), (3, 3)],
    f"INSERT OVERWRITE {T} SELECT id, n + 1 FROM {T}": [(1, 2), (2, 3), (3, 4)],
    f"INSERT INTO {T} SELECT max(id) + 1, 0 FROM {T}": [(1, 1), (2, 2), (3, 3), (4, 0)],
}


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"], ids=["keyless", "keyed"])
def test_statements_never_take_cached_rows_of_their_own_table(sql: Sql, key: str) -> None:
    """They may be of an older state, and what came since would be missed or lost."""
    commands = dict(list(COMMANDS.items())[:: 1 if key else 2])
    for statement, rows in commands.items():
        _begin(sql, key)
        sql(statement)
        assert sql.rows("shop.t") == rows, statement
        # What is cached is made anew after a write, as ever.
        assert sorted(sql(f"SELECT * FROM {T}")) == rows
        sql(f"UNCACHE TABLE {T}")


def test_what_is_cached_is_made_anew_after_each_change(sql: Sql) -> None:
    """By a save under the table's name, and by a procedure; also what was made of the table."""
    own = sql.spark
    sql(
        f"CREATE TABLE {T} (id BIGINT, n BIGINT, PRIMARY KEY (id))",
        f"INSERT INTO {T} VALUES (1, 1)",
        f"INSERT INTO {T} VALUES (2, 2)",
        f"CACHE TABLE {T}",
        f"CACHE TABLE doubled AS SELECT id, 2 * n AS n FROM {T}",
    )

    def seen() -> list[tuple[int, int]]:
        rows = sorted(sql(f"SELECT id, n FROM {T}"))
        assert sorted(sql("SELECT * FROM doubled")) == [(key, 2 * n) for key, n in rows]
        return rows

    rows = own.createDataFrame([(1, 10)], "id long, n long")
    try:
        assert seen() == [(1, 1), (2, 2)]
        rows.write.mode("upsert").saveAsTable(T)
        assert seen() == [(1, 10), (2, 2)]
        rows.select("id").write.mode("delete").saveAsTable(T)
        assert seen() == [(2, 2)]
        rows.write.mode("overwrite").saveAsTable(T)
        assert seen() == [(1, 10)]
        sql("CALL arctic.system.restore('shop.t', version => '2')")
        assert seen() == [(1, 1), (2, 2)]
        sql(f"CALL arctic.system.rollback_to_timestamp('{T}', TIMESTAMP'{_first()}')")
        assert seen() == [(1, 1)]
    finally:
        sql(f"UNCACHE TABLE IF EXISTS {T}", "UNCACHE TABLE IF EXISTS doubled", "DROP VIEW doubled")


def test_rows_that_became_too_old_leave_what_is_cached(sql: Sql) -> None:
    """Expiry takes their partition out of the table, if that says so."""
    sql(
        f"CREATE TABLE {T} (id BIGINT, at TIMESTAMP) PARTITIONED BY (days(at)) TBLPROPERTIES "
        "('data-expire.enabled' = 'true', 'data-expire.field' = 'at', "
        "'data-expire.retention-time' = '10d')",
        f"INSERT INTO {T} VALUES (1, now() - INTERVAL 90 DAYS), (2, now())",
        f"CACHE TABLE {T}",
    )
    try:
        assert sql(f"SELECT count(*) FROM {T}") == [(2,)]
        sql("CALL arctic.system.expire('shop.t')")
        assert [key for key, _ in sql.rows("shop.t")] == [2]
        assert sql(f"SELECT id FROM {T}") == [(2,)]
    finally:
        sql(f"UNCACHE TABLE IF EXISTS {T}")


def _first() -> str:
    """Return when the first commit was made."""
    at = arctic.open_table("shop.t").versions()["committed_at"][0].as_py()
    return f"{at:%Y-%m-%d %H:%M:%S.%f}Z"


def test_a_refreshed_view_is_made_anew_too(sql: Sql) -> None:
    """Whose rows are in a table of its own; and what is cached hinders no other call."""
    view = "arctic.shop.view"
    sql(
        f"CREATE TABLE {T} (id BIGINT, n BIGINT, PRIMARY KEY (id))",
        f"INSERT INTO {T} VALUES (1, 1)",
        "CALL arctic.system.materialize('shop.view', 'SELECT id, n FROM shop.t')",
        f"CACHE TABLE {view}",
        f"CACHE TABLE {T}",
        f"INSERT INTO {T} VALUES (2, 2)",
    )
    try:
        assert sql(f"SELECT count(*) FROM {view}") == [(1,)]
        sql("CALL arctic.system.refresh('shop.view')")
        assert sql(f"SELECT count(*) FROM {view}") == [(2,)]
        sql("CALL arctic.system.publish('shop.t')", "CALL arctic.system.unpublish('shop.t')")
        for change in ("drop => array('n')", "add => map('n', 'bigint')"):
            sql(f"CALL arctic.system.evolve_schema('shop.t', {change})")
        assert sorted(sql(f"SELECT * FROM {T}")) == [(1, None), (2, None)]
    finally:
        sql(f"UNCACHE TABLE IF EXISTS {view}", f"UNCACHE TABLE IF EXISTS {T}")


def test_cached_frames_are_made_again_or_refused(sql: Sql) -> None:
    """Whatever names the table; the rows of others stay as they are cached."""
    _begin(sql, ", PRIMARY KEY (id)")
    sql(f"UNCACHE TABLE {T}")
    other = sql.spark.range(2).withColumn("x", F.rand()).cache()
    drawn = sorted(row.x for row in other.collect())
    reader = sql.spark.read.format("arctic")
    named, path = sql.spark.table(T), reader.load("shop.t")
    past = reader.option("version", "1").load("shop.t")
    doubled = path.select("id", (F.col("n") * 2).alias("n")).union(named.where("id < 0")).cache()
    assert doubled.count() == 3
    _beside(4)

    doubled.write.format("arctic").mode("overwrite").save("shop.t")
    assert sql.rows("shop.t") == [(1, 2), (2, 4), (3, 6), (4, 8)]
    doubled.unpersist()
    few = named.orderBy("id").limit(1).cache()
    assert few.count() == 1
    with pytest.raises(UnsupportedError, match="unpersist"):
        few.write.format("arctic").mode("overwrite").save("shop.t")
    few.createOrReplaceTempView("few")
    merge = f"MERGE INTO {T} t USING few s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert "unpersist" in sql.refused(merge)
    # Of another table, or a past that was asked for, what is cached is as good as ever.
    past.cache().createOrReplaceTempView("past")
    assert past.count() == 2
    sql(f"DELETE FROM {T} WHERE id IN (SELECT id FROM past)")
    assert sql.rows("shop.t") == [(3, 6), (4, 8)]
    sql(f"CREATE TABLE {T}2 (id BIGINT, x DOUBLE)")
    few.unpersist()
    other.createOrReplaceTempView("other")
    sql(f"INSERT INTO {T}2 SELECT * FROM other")
    assert sorted(row[1] for row in sql.rows("shop.t2")) == drawn
    for each in (other, past):
        each.unpersist()


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_row_that_comes_before_it_is_read_is_there_once(
    sql: Sql, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overwrite that has begun begins again, before it has read a row; or it gives up."""
    sql(
        f"CREATE TABLE {T} (id BIGINT NOT NULL, n BIGINT, PRIMARY KEY (id))",
        f"INSERT INTO {T} VALUES (1, 1), (2, 2)",
    )
    others: Others = []

    def begun(*args: Any) -> write_job.WriteJob:
        job = write_job.begin_write(*args)
        if others:
            others.pop()()
        return job

    monkeypatch.setattr(save_rows, "begin_write", begun)
    others.append(lambda: _beside(3, mode))
    sql.spark.table(T).write.format("arctic").mode("overwrite").save("shop.t")
    assert sql.rows("shop.t") == [(1, 1), (2, 2), (3, 3)]

    others.extend([lambda: _beside(5, "upsert")] * 9)
    with pytest.raises(ConflictError, match="write again") as caught:
        sql.spark.table(T).write.format("arctic").mode("overwrite").save("shop.t")
    assert isinstance(caught.value, own_rows.ReadLaterError)
    others.clear()
    assert [row[0] for row in sql.rows("shop.t")] == [1, 2, 3, 5]
    # Rows of another source replace what was there when it began, and no more.
    others.append(lambda: _beside(6, mode))
    rows = sql.spark.createDataFrame([(1, 0)], "id long, n long")
    rows.write.format("arctic").mode("overwrite").save("shop.t")
    assert sql.rows("shop.t") == [(1, 0), (6, 6)]
