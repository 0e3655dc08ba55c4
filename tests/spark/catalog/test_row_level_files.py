"""What commands on rows leave of files, of partitions, and of what Spark has cached."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import arctic
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
CREW = "(id INT, team STRING) PARTITIONED BY (team)"
SEA, AIR = "(1, 'sea'), (3, 'sea')", "(1, 'air'), (2, 'air')"


@pytest.fixture(autouse=True)
def cheap(sql: Sql) -> Iterator[None]:
    """Have few rows cost little."""
    with small_plans(sql.spark):
        yield


def begin(sql: Sql, columns: str, *values: str) -> None:
    """Make the table anew; each of ``values`` is a commit."""
    sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} {columns}")
    sql(*(f"INSERT INTO {T} VALUES {each}" for each in values))


def rows(sql: Sql, table: str = T) -> list[tuple[object, ...]]:
    """Return the rows, in order."""
    return sorted(sql(f"SELECT * FROM {table}"), key=repr)


def data_files() -> list[str]:
    """Return the paths of the data files."""
    files = arctic.read("shop.t.files").read_all().to_pylist()
    return [file["path"] for file in files if file["kind"] == "B"]


def test_what_spark_has_cached_shows_the_rows_after_a_command(sql: Sql) -> None:
    """A view of the table, and the table itself, which is then merged into itself."""
    begin(sql, CREW.replace("STRING)", "STRING, PRIMARY KEY (id, team))"), SEA, AIR)
    sql.spark.sql(f"SELECT * FROM {T} WHERE id = 1").createOrReplaceTempView("ones")
    sql("CACHE TABLE ones", f"CACHE TABLE {T}")
    assert rows(sql, "ones") == [(1, "air"), (1, "sea")]

    sql(f"UPDATE {T} SET id = -1 WHERE id + 0 = 1 AND team = 'air'")
    assert rows(sql, "ones") == [(1, "sea")]
    sql(f"DELETE FROM {T} WHERE id + 0 = 1")
    assert rows(sql, "ones") == []
    sql(
        f"MERGE INTO {T} t USING (SELECT 2 id, 'air' team) s ON t.id = s.id AND t.team = s.team "
        "WHEN MATCHED THEN UPDATE SET id = 1 WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(sql, "ones") == [(1, "air")]
    sql(
        f"MERGE INTO {T} t USING {T} s ON t.id = s.id AND t.team = s.team "
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET id = 5 WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(sql, "ones") == []
    assert rows(sql) == [(-1, "air"), (3, "sea"), (5, "air")]
    sql("UNCACHE TABLE ones", f"UNCACHE TABLE {T}", "DROP VIEW ones")
    assert rows(sql) == [(-1, "air"), (3, "sea"), (5, "air")]


def test_files_that_a_condition_leaves_out_are_not_opened(sql: Sql, tmp_path: Path) -> None:
    """By what a filter says of partitions; a partition that goes is not opened at all."""
    begin(sql, CREW, SEA, AIR, "(1, 'mud')")
    aside = {
        path: tmp_path / f"aside{number}"
        for number, path in enumerate(tmp_path.rglob("*.parquet"))
        if "team=sea" in str(path) or "team=mud" in str(path)
    }
    assert len(aside) == 2
    for path, place in aside.items():
        shutil.move(path, place)

    sql(f"UPDATE {T} SET id = -1 WHERE team IN ('air') AND id = 1")
    sql(
        f"MERGE INTO {T} t USING (SELECT * FROM VALUES (-1, 'new'), (9, 'hot') v(id, team)) s "
        "ON t.id = s.id AND t.team IN ('air') AND s.id < 10 "
        "WHEN MATCHED THEN UPDATE SET team = s.team "
        "WHEN NOT MATCHED THEN INSERT (team, id) VALUES (s.team, s.id)"
    )
    sql(f"DELETE FROM {T} WHERE team = 'mud'")

    for path, place in aside.items():
        shutil.move(place, path)
    assert rows(sql) == [(-1, "new"), (1, "sea"), (2, "air"), (3, "sea"), (9, "hot")]


def test_files_and_partitions_go_whole_where_no_row_is_left(sql: Sql) -> None:
    """By their places or by metadata, after other rows of their table went one by one."""
    begin(sql, CREW, SEA, AIR)
    sql(f"DELETE FROM {T} WHERE id + 0 = 1")
    assert rows(sql) == [(2, "air"), (3, "sea")]
    assert len(sql(f"SELECT * FROM {T}.partitions")) == 2
    sql(f"DELETE FROM {T} WHERE team = 'sea'")
    assert len(sql(f"SELECT * FROM {T}.partitions")) == 1

    begin(sql, "(id INT, team STRING)", "(1, 'sea')", "(2, 'air'), (null, 'sea')")
    sql(f"DELETE FROM {T} WHERE id IS NULL")
    before = data_files()
    sql(f"DELETE FROM {T} WHERE id = 1")
    assert len(data_files()) == len(before) - 1
    newest = arctic.open_table("shop.t").inspect("snapshots").to_pylist()[-1]
    assert newest["operation"] == "delete"
    assert rows(sql) == [(2, "air")]


def test_tables_of_others_take_no_delete(sql: Sql, tmp_path: Path) -> None:
    """As Spark says it, where the rules of the catalog are in force too."""
    sql(f"CREATE TABLE plain (id INT) USING parquet LOCATION '{tmp_path}/plain'")
    assert "does not support DELETE" in sql.refused("DELETE FROM plain WHERE id = 1")
    sql("DROP TABLE plain")


def test_a_frame_merges_by_every_clause(sql: Sql) -> None:
    """And brings a column."""
    begin(sql, "(id INT, v STRING, PRIMARY KEY (id))", "(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    id_ = F.col(f"{T}.id")
    news = sql.spark.createDataFrame(
        [(1, "A", 7), (2, "B", 8), (5, "E", 9)], "id int, v string, n int"
    )
    merge = news.alias("s").mergeInto(T, id_ == F.col("s.id"))
    merge = merge.whenMatched(id_ == 1).updateAll().whenMatched(id_ == 2).delete()
    merge = merge.whenNotMatched().insertAll()
    merge = merge.whenNotMatchedBySource(id_ == 3).update({"v": F.lit("none")})
    merge.whenNotMatchedBySource(id_ == 4).delete().withSchemaEvolution().merge()

    assert rows(sql) == [(1, "A", 7), (3, "none", None), (5, "E", 9)]
