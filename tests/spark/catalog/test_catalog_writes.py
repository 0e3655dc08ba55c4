"""Writes into tables of the catalog: by statements, by Spark's builders, and by streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import arctic
from arctic.errors import InvalidInputError
from arctic.job.write.commit_write import commit_write
from arctic.spark.write.write_frame import write_frame
from tests.iceberg.plain_readers import by_pyiceberg
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
KEYED = "TBLPROPERTIES (primaryKey = 'id, region')"


def _frame(sql: Sql, *rows: tuple[Any, ...]) -> DataFrame:
    return sql.spark.createDataFrame(list(rows), "id long, region string")


def test_rows_of_a_key_are_merged_by_the_engine_of_their_table(sql: Sql) -> None:
    """Read by Spark's own scan where it can; commands set and remove them, but the first."""
    functions = "`write.merge-engine.aggregate-functions` = 'n: sum'"
    for name, engine, wanted in (
        ("first", "'first-row'", [(990, 990), (10, 10)]),
        ("total", f"'aggregate', {functions}", [(975, 975), (25, 50)]),
        ("part", "'partial-update'", [(975, 975), (25, 25)]),
    ):
        table = f"arctic.shop.{name}"
        sql(
            f"CREATE TABLE {table} (id BIGINT, n BIGINT, note STRING) TBLPROPERTIES (primaryKey = "
            f"'id', `write.merge-engine` = {engine}, `read.deletion-vector.min-rows` = '1')",
            f"INSERT INTO {table} SELECT id, 1, 'old' FROM range(990)",
        )
        arctic.optimize(f"shop.{name}", type="full")
        sql(
            f"INSERT INTO {table} SELECT id, 1, 'new' FROM range(975, 1000)",
            f"INSERT INTO {table} SELECT id, 1, CAST(NULL AS STRING) FROM range(990, 1000)",
        )
        found = sql(f"SELECT count(*), sum(n) FROM {table} GROUP BY note ORDER BY note DESC")
        assert found == wanted
        merge = (
            f"MERGE INTO {table} t USING (SELECT explode(array(2L, 5000L)) AS id) s ON t.id = s.id"
        )
        commands = (
            f"DELETE FROM {table} WHERE id = 1",
            f"UPDATE {table} SET n = 5 WHERE id IN (3, 980)",
            f"{merge} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, n) "
            "VALUES (s.id, 7)",
        )
        if name == "first":
            for command in commands:
                assert "merge engine" in sql.refused(command)
        arctic.optimize(f"shop.{name}", type="minor")
        found = sql(f"SELECT count(*), sum(n) FROM {table} GROUP BY note ORDER BY note DESC")
        assert found == wanted
        if name != "first":
            sql(*commands, f"INSERT INTO {table} VALUES (980, 1, NULL), (1, 1, NULL)")
            of_keys = f"SELECT id, n FROM {table} WHERE id IN (1, 2, 3, 980, 5000) ORDER BY id"
            last = 6 if name == "total" else 1
            for _ in range(2):
                assert sql(of_keys) == [(1, 1), (3, 5), (980, last), (5000, 7)]
                arctic.optimize(f"shop.{name}", type="minor")
            sql(f"TRUNCATE TABLE {table}", f"INSERT INTO {table} VALUES (1, 2, NULL)")
            assert sql(f"SELECT id, n FROM {table}") == [(1, 2)]


def test_the_greatest_row_stays_where_a_table_has_ordering_columns(sql: Sql) -> None:
    """Read by Spark's own scan where it can; commands that go by commits are refused."""
    sql(
        f"CREATE TABLE {T} (id BIGINT, at TIMESTAMP_NTZ, note STRING) TBLPROPERTIES (primaryKey = "
        "'id', `write.ordering-columns` = 'at', `read.deletion-vector.min-rows` = '1')",
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-05', 'first' FROM range(1000)",
    )
    arctic.optimize("shop.t", type="full")
    sql(
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-04', 'late' FROM range(10)",
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-06', 'new' FROM range(5, 20)",
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-05', 'tie' FROM range(15, 30)",
    )
    wanted = [("first", 975), ("new", 15), ("tie", 10)]
    assert sql(f"SELECT note, count(*) FROM {T} GROUP BY note ORDER BY note") == wanted
    assert sql(f"SELECT count(*), max(at) FROM {T} WHERE note = 'late'") == [(0, None)]
    commits = sql.commits("shop.t")
    for command in (
        f"DELETE FROM {T} WHERE id IN (SELECT max(id) FROM {T})",
        f"UPDATE {T} SET at = timestamp_ntz'2026-01-01' WHERE id = 1",
        f"UPDATE {T} SET id = 7777 WHERE id = 1",
        f"MERGE INTO {T} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"MERGE INTO {T} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED AND "
        "t.note = 'first' THEN DELETE",
        f"MERGE INTO {T} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
        "id = 7777",
        f"INSERT OVERWRITE {T} SELECT * FROM {T}",
    ):
        assert "ordering columns" in sql.refused(command)
    assert sql.commits("shop.t") == commits
    events = (
        "(SELECT id, timestamp_ntz'2026-01-05' - make_interval(0, 0, 0, id % 2) AS at, 'merged' AS "
        "note FROM range(100, 110) UNION ALL SELECT 3000, timestamp_ntz'2026-01-01', 'merged')"
    )
    sql(
        f"DELETE FROM {T} WHERE id < 3",
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-04', 'late' FROM range(10)",
        f"UPDATE {T} SET note = upper(note) WHERE id BETWEEN 3 AND 4",
        f"MERGE INTO {T} t USING {events} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *",
        f"MERGE INTO {T} t USING {events} s ON t.id = s.id WHEN MATCHED AND t.note = 'merged' THEN "
        "UPDATE SET note = concat(t.note, s.note) WHEN NOT MATCHED THEN INSERT *",
    )
    arctic.optimize("shop.t", type="minor")
    wanted = [("FIRST", 2), ("first", 965), ("mergedmerged", 6), ("new", 15), ("tie", 10)]
    assert sql(f"SELECT note, count(*) FROM {T} GROUP BY note ORDER BY note") == wanted
    sql(
        f"TRUNCATE TABLE {T}",
        f"INSERT INTO {T} SELECT id, timestamp_ntz'2026-01-04', 'late' FROM range(10)",
    )
    assert sql(f"SELECT * FROM {T}") == []


def test_rows_are_replaced_by_statements(sql: Sql) -> None:
    """All of them, or the partitions that have new ones; each in one commit."""
    sql(
        f"CREATE TABLE {T} (id BIGINT, region STRING) PARTITIONED BY (region) {KEYED}",
        f"INSERT INTO {T} VALUES (1, 'eu'), (2, 'us')",
        f"INSERT INTO {T} PARTITION (region = 'eu') SELECT 3",
    )
    assert sql.rows("shop.t") == [(1, "eu"), (2, "us"), (3, "eu")]
    sql.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        sql(f"INSERT OVERWRITE {T} VALUES (4, 'eu')")
        assert sql.rows("shop.t") == [(2, "us"), (4, "eu")]
        sql(f"INSERT OVERWRITE {T} PARTITION (region = 'us') SELECT id + 5 FROM {T}")
        assert sql.rows("shop.t") == [(4, "eu"), (7, "us"), (9, "us")]
    finally:
        sql.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    sql(f"INSERT OVERWRITE {T} VALUES (6, 'eu')")
    assert sql.rows("shop.t") == [(6, "eu")]
    assert sql.commits("shop.t") == 5
    sql(f"TRUNCATE TABLE {T}")
    assert (sql.rows("shop.t"), sql.commits("shop.t")) == ([], 6)
    sql(
        f"INSERT INTO {T} VALUES (1, 'eu'), (2, 'us')",
        f"INSERT OVERWRITE {T} PARTITION (region = 'eu') SELECT 8 WHERE false",
    )
    assert sql.rows("shop.t") == [(2, "us")]
    sql(f"INSERT OVERWRITE {T} PARTITION (region = 'us') SELECT 8")
    assert sql.rows("shop.t") == [(8, "us")]
    assert sql.commits("shop.t") == 9
    sql(
        f"INSERT INTO {T} VALUES (1, 'eu')",
        f"INSERT INTO {T} REPLACE WHERE region = 'us' VALUES (9, 'us')",
    )
    assert (sql.rows("shop.t"), sql.commits("shop.t")) == ([(1, "eu"), (9, "us")], 11)
    outside = f"INSERT INTO {T} REPLACE WHERE region = 'us' VALUES (9, 'as')"
    assert "a row lies outside" in sql.refused(outside)


def test_a_write_by_name_makes_replaces_and_fills_tables(sql: Sql) -> None:
    """As DataFrameWriterV2 has it, and insertInto."""
    first = _frame(sql, (1, "eu"), (2, "us"))
    first.writeTo(T).tableProperty("primaryKey", "id,region").partitionedBy("region").create()
    _frame(sql, (1, "eu"), (3, "eu")).writeTo(T).append()
    assert sql.rows("shop.t") == [(1, "eu"), (2, "us"), (3, "eu")]
    _frame(sql, (4, "eu")).writeTo(T).overwritePartitions()
    assert sql.rows("shop.t") == [(2, "us"), (4, "eu")]
    _frame(sql, (2, "us"), (2, "us")).writeTo(T).option("write-mode", "append").append()
    assert sql.rows("shop.t") == [(2, "us"), (2, "us"), (2, "us"), (4, "eu")]
    _frame(sql, (5, "eu")).writeTo(T).overwrite(F.col("region").isin("eu", "as"))
    assert sql.rows("shop.t") == [(2, "us"), (2, "us"), (2, "us"), (5, "eu")]
    with pytest.raises(PySparkException, match="a row lies outside"):
        first.writeTo(T).overwrite(F.col("region") == "eu")
    with pytest.raises(PySparkException, match="only whole partitions"):
        first.writeTo(T).overwrite(F.col("id") == 5)
    first.writeTo(T).overwrite(F.lit(True))
    first.write.insertInto(T)
    assert sql.rows("shop.t") == [(1, "eu"), (2, "us")]
    _frame(sql, (5, "eu")).write.insertInto(T, overwrite=True)
    assert sql.rows("shop.t") == [(5, "eu")]
    first.writeTo(T).createOrReplace()
    assert arctic.open_table("shop.t").primary_key == ()
    first.limit(1).writeTo(T).tableProperty("primaryKey", "id").replace()
    assert arctic.open_table("shop.t").primary_key == ("id",)
    assert len(sql.rows("shop.t")) == 1


def test_save_as_table_makes_and_fills_tables_in_every_mode(sql: Sql) -> None:
    """Also in those of ours; an overwrite replaces rows, and leaves the table its key."""
    first, then = _frame(sql, (1, "eu")), _frame(sql, (1, "us"), (2, "us"))
    first.write.saveAsTable(T)
    assert arctic.open_table("shop.t").primary_key == ()
    with pytest.raises(PySparkException, match="already exists"):
        first.write.format("arctic").saveAsTable(T)
    first.write.mode("ignore").saveAsTable(T)
    first.write.mode("append").saveAsTable(T)
    assert sql.rows("shop.t") == [(1, "eu"), (1, "eu")]
    keyed = f"{T}2"
    first.write.option("primaryKey", "id").partitionBy("region").saveAsTable(keyed)
    then.write.mode("append").saveAsTable(keyed)
    assert sql.rows("shop.t2") == [(1, "us"), (2, "us")]
    first.write.mode("upsert").saveAsTable(keyed)
    assert sql.rows("shop.t2") == [(1, "eu"), (2, "us")]
    then.write.mode("Overwrite").saveAsTable(keyed)
    assert sql.rows("shop.t2") == [(1, "us"), (2, "us")]
    made = arctic.open_table("shop.t2")
    assert (made.primary_key, made.partition_by) == (("id",), ("region",))
    sql("USE arctic.shop")
    try:
        then.select("id").write.mode("delete").saveAsTable("t2")
        assert sql.rows("shop.t2") == []
    finally:
        sql("USE spark_catalog.default")
    with pytest.raises(InvalidInputError, match="is no Arctic table"):
        first.write.format("arctic").saveAsTable("t2")


@pytest.mark.parametrize("namespace", ["my-shop", "ünï", "select", "2024", "a.`b-c`"])
def test_a_name_alone_is_in_the_current_namespace(sql: Sql, namespace: str) -> None:
    """Whatever Spark has to quote of it."""
    quoted = ".".join(f"`{part.strip('`')}`" for part in namespace.split("."))
    plain = namespace.replace("`", "")
    sql(
        f"CREATE TABLE arctic.{quoted}.t (id BIGINT, region STRING, PRIMARY KEY (id))",
        f"USE arctic.{quoted}",
    )
    try:
        _frame(sql, (1, "eu")).write.mode("upsert").saveAsTable("t")
        assert sql.rows(f"{plain}.t") == [(1, "eu")]
        assert "_change_action" in sql.spark.readStream.table("t").columns
        sql("USE spark_catalog.default", "USE arctic")
        with pytest.raises(InvalidInputError, match="table 't' is in no namespace"):
            _frame(sql, (1, "us")).write.mode("upsert").saveAsTable("t")
    finally:
        sql("USE spark_catalog.default")


def test_streams_read_and_write_tables_by_their_names(sql: Sql, tmp_path: Path) -> None:
    """A stream has the columns that say what each row does, whatever table() has in a batch."""
    sql(
        f"CREATE TABLE {T} (id BIGINT, region STRING) TBLPROPERTIES (primaryKey = 'id')",
        f"INSERT INTO {T} VALUES (1, 'eu'), (2, 'us')",
        f"INSERT INTO {T} VALUES (1, 'us')",
    )
    changes = sql.spark.readStream.table(T)
    assert "_change_action" in changes.columns
    query = (
        changes.select("id", "region", "_change_action")
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("action-column", "_change_action")
        .option("primaryKey", "id")
        .trigger(availableNow=True)
        .toTable(f"{T}_copy")
    )
    query.awaitTermination()

    assert query.exception() is None
    assert sql(f"SELECT * FROM {T}_copy ORDER BY id") == [(1, "us"), (2, "us")]


def test_a_property_has_statements_streams_and_saves_publish(sql: Sql, tmp_path: Path) -> None:
    """Each is shown to other engines when it returns, whoever has found the rows of a command."""
    kept = "('publish' = 'auto', 'primaryKey' = 'id')"
    sql(f"CREATE TABLE {T} (id BIGINT NOT NULL, region STRING) TBLPROPERTIES {kept}")

    def stream() -> None:
        sql("CREATE TABLE arctic.shop.more (id BIGINT, region STRING)")
        sql("INSERT INTO arctic.shop.more VALUES (9, 'E')")
        more = sql.spark.readStream.table("arctic.shop.more").select("id", "region")
        writer = more.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable(T).awaitTermination()

    source = "(SELECT * FROM VALUES (1, 'C'), (5, 'D') AS v (id, region)) AS s"
    for act in (
        f"INSERT INTO {T} VALUES (1, 'A'), (2, 'A'), (3, 'B'), (4, 'B')",
        f"UPDATE {T} SET region = 'Z' WHERE id = 1",
        f"UPDATE {T} SET region = upper(region || 'x') WHERE id IN (SELECT 2)",
        f"DELETE FROM {T} WHERE id = 3",
        f"MERGE INTO {T} AS t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        f"MERGE INTO {T} AS t USING {source} ON t.id = s.id WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        lambda: _frame(sql, (7, "S")).writeTo(T).append(),
        lambda: _frame(sql, (8, "S")).write.format("arctic").mode("upsert").save("shop.t"),
        stream,
    ):
        before = sql.rows("shop.t")
        act() if callable(act) else sql(act)
        shown = by_pyiceberg(sql.warehouse, "shop.t_fresh").sort_by("id")
        found = sql.rows("shop.t")
        assert [tuple(row.values()) for row in shown.to_pylist()] == found != before, act
    assert found == [(1, "C"), (5, "D"), (7, "S"), (8, "S"), (9, "E")]


def test_columns_are_added_by_a_write_that_says_so(sql: Sql) -> None:
    """And wider numbers taken; no other write changes columns."""
    sql(f"CREATE TABLE {T} (id INT, n INT) TBLPROPERTIES (primaryKey = 'id')")
    more = f"{T} BY NAME SELECT 1 AS id, 5 AS n, 'x' AS more"
    assert sql.refused(f"INSERT INTO {more}")
    evolving = "INSERT WITH SCHEMA EVOLUTION INTO"
    if sql.spark.version.startswith("4.1."):  # whose grammar has the words for MERGE only
        assert "PARSE_SYNTAX_ERROR" in sql.refused(f"{evolving} {more}")
        return
    sql(f"{evolving} {more}")
    assert sql(f"SELECT * FROM {T}") == [(1, 5, "x")]
    wide = f"{T} BY NAME SELECT 2 AS id, 7000000000 AS n"
    assert "CAST_OVERFLOW" in sql.refused(f"INSERT INTO {wide}")
    sql(f"{evolving} {wide}")
    assert sql(f"SELECT * FROM {T} ORDER BY id") == [(1, 5, "x"), (2, 7_000_000_000, None)]
    assert str(arctic.open_table("shop.t").schema.field("n").type) == "int64"


def test_an_option_that_would_read_something_else_is_refused(sql: Sql) -> None:
    """The columns of a name are those of its rows: others would be read wrongly."""
    sql(f"CREATE TABLE {T} (id INT)", f"INSERT INTO {T} VALUES (1)")

    for name, value in (
        ("store", "change"),
        ("start-snapshot-id", "1"),
        ("stream-from", "earliest"),
        ("warehouse", "/elsewhere"),
        ("Catalog.uri", "sqlite:///elsewhere"),
    ):
        with pytest.raises(PySparkException, match=f"option {name} of a read"):
            sql.spark.read.option(name, value).table(T).collect()


def test_a_replaced_table_loses_nothing_of_others(
    sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that came after the statement began are no part of what takes their place."""
    sql(f"CREATE TABLE {T} (id BIGINT)", f"INSERT INTO {T} VALUES (1)")

    def slow(frame: Any, job: Any) -> Any:
        arctic.write("shop.t", pa.table({"id": [7]}))
        return write_frame(frame, job)

    again = f"CREATE OR REPLACE TABLE {T} AS SELECT id + 10 AS id FROM {T}"
    with monkeypatch.context() as patched:
        patched.setattr("arctic.spark.write.save_rows.write_frame", slow)
        assert "run the statement again" in sql.refused(again)
    assert sql.rows("shop.t") == [(1,), (7,)]
    assert arctic.list_tables("shop") == ["shop.t"]
    sql(again)
    assert sql.rows("shop.t") == [(11,), (17,)]
    sql(f"ALTER TABLE {T} RENAME TO shop.t__replaced_0123abcd")
    assert "t__replaced_0123abcd" in sql.refused(f"SELECT * FROM {T}")
    sql(f"ALTER TABLE {T}__replaced_0123abcd RENAME TO shop.t")
    assert sql.rows("shop.t") == [(11,), (17,)]


def test_a_column_without_null_is_copied_into_one(sql: Sql) -> None:
    """Whoever reads its files: Spark knows that no null comes out of them."""
    columns = "(id BIGINT NOT NULL, region STRING, PRIMARY KEY (id))"
    sql(f"CREATE TABLE {T} {columns}", f"INSERT INTO {T} VALUES (1, 'eu'), (2, null)")
    arctic.optimize("shop.t", type="full")

    sql(f"CREATE TABLE {T}2 {columns}", f"INSERT INTO {T}2 SELECT id, region FROM {T} WHERE id > 1")
    assert sql.rows("shop.t2") == [(2, None)]
    sql(f"INSERT INTO {T} VALUES (3, 'us')", f"INSERT OVERWRITE {T} SELECT * FROM {T}")
    assert sql.rows("shop.t") == [(1, "eu"), (2, None), (3, "us")]
    assert sql(f"SELECT count(*), count(region) FROM {T} WHERE id <> 1") == [(2, 1)]


def test_an_overwrite_from_its_own_rows_loses_nothing_of_others(
    sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a table without a key, where what others append does not stay on top."""
    sql(
        f"CREATE TABLE {T} (id BIGINT, region STRING) PARTITIONED BY (region)",
        f"INSERT INTO {T} VALUES (1, 'eu'), (2, 'us')",
    )
    regions: list[str] = []

    def late(job: Any, results: Any) -> Any:
        if regions:
            arctic.write("shop.t", pa.table({"id": [7], "region": [regions.pop()]}))
        return commit_write(job, results)

    monkeypatch.setattr("arctic.spark.write.write_frame.commit_write", late)
    lived = f"WHERE id IN (SELECT max(id) FROM {T} GROUP BY region)"
    rows = f"SELECT id + 10 AS id, region FROM {T} "
    again: list[Callable[[], object]] = [
        lambda: sql(f"INSERT OVERWRITE {T} {rows}"),
        lambda: sql(f"INSERT OVERWRITE {T} PARTITION (region = 'eu') SELECT id FROM {T} {lived}"),
        lambda: sql.spark.sql(rows + lived).writeTo(T).overwritePartitions(),
        lambda: sql.spark.sql(rows).write.format("arctic").mode("overwrite").save("shop.t"),
    ]
    for write in again:
        before = sql.rows("shop.t")
        regions.append("eu")
        with pytest.raises((PySparkException, arctic.ConflictError), match="write again"):
            write()
        assert sql.rows("shop.t") == sorted([*before, (7, "eu")], key=repr)
    regions.append("as")
    sql.spark.sql(f"{rows} WHERE region = 'us'").writeTo(T).overwritePartitions()
    assert {(7, "as"), (12, "us"), (1, "eu")} <= set(sql.rows("shop.t"))
    sql(f"TRUNCATE TABLE {T}")
    assert sql.rows("shop.t") == []


@pytest.mark.parametrize("become", ["keep", "null"])
def test_a_new_table_takes_rows_whatever_becomes_of_missing_columns(sql: Sql, become: str) -> None:
    """They lack none of its columns."""
    frame = _frame(sql, (1, "eu"), (2, "us"))

    frame.writeTo(T).tableProperty("primaryKey", "id").option("missing-columns", become).create()

    assert sql.rows("shop.t") == [(1, "eu"), (2, "us")]
