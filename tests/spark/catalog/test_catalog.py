"""Tables of the catalog ``arctic``, made, described, written and read in SQL."""

from __future__ import annotations

import threading

import pytest
from pyspark.errors import AnalysisException, PySparkException

import arctic
from tests.spark.catalog.sql import Rows, Sql

pytestmark = pytest.mark.spark


def test_a_keyed_table_is_made_and_upserted_into(sql: Sql) -> None:
    """Each INSERT is one commit, and a key that is given twice is one row."""
    assert sql("SHOW NAMESPACES IN arctic") == []
    sql(
        "CREATE TABLE arctic.shop.users (id BIGINT COMMENT 'the key', city STRING, "
        "PRIMARY KEY (id)) COMMENT 'all of them' TBLPROPERTIES ('mine' = 'x')",
        "CREATE TABLE IF NOT EXISTS arctic.shop.users (other INT)",
        "INSERT INTO arctic.shop.users VALUES (1, 'Rome'), (2, 'Oslo')",
        "INSERT INTO arctic.shop.users (city, id) VALUES ('Bern', 2), ('Lima', 3), ('Lima', 3)",
    )

    assert sql("SELECT * FROM arctic.shop.users ORDER BY id") == [
        (1, "Rome"),
        (2, "Bern"),
        (3, "Lima"),
    ]
    assert sql("SELECT count(*), max(id) FROM arctic.shop.users") == [(3, 3)]
    assert sql.commits("shop.users") == 2
    assert arctic.open_table("shop.users").primary_key == ("id",)
    assert sql("SHOW NAMESPACES IN arctic") == [("shop",)]
    assert sql("SHOW TABLES IN arctic.shop") == [("shop", "users", False)]
    assert sql("DESCRIBE arctic.shop.users") == [
        ("id", "bigint", "the key"),
        ("city", "string", None),
    ]
    shown: dict[str, str] = dict(sql("SHOW TBLPROPERTIES arctic.shop.users"))
    assert shown == {"mine": "x", "primaryKey": "id"}
    detailed = {row[0]: row[1] for row in sql("DESCRIBE EXTENDED arctic.shop.users")}
    assert (detailed["Comment"], detailed["Provider"]) == ("all of them", "arctic")
    assert detailed["Location"].endswith("/shop/users")
    assert len(sql("SELECT * FROM arctic.shop.users.snapshots")) == 2
    assert sql("SELECT sum(insert_rows) FROM arctic.shop.users.nodes") == [(4,)]
    sql("CALL arctic.system.create_tag('shop.users', 'now')")
    assert sql("SELECT DISTINCT name FROM arctic.shop.users.refs WHERE type = 'tag'") == [("now",)]
    assert [row[0] for row in sql("SELECT store FROM arctic.shop.users.history")] == ["change"] * 2


def test_a_table_without_a_key_takes_every_row(sql: Sql) -> None:
    """And its partitions are those of Iceberg, as SHOW CREATE TABLE writes them again."""
    sql(
        "CREATE TABLE arctic.shop.visits (id INT, region STRING, name STRING, at TIMESTAMP, "
        "day DATE) PARTITIONED BY (region, days(at), bucket(4, id), truncate(2, name), years(day))",
        "INSERT INTO arctic.shop.visits VALUES (1, 'eu', 'ann', TIMESTAMP'2024-02-29 12:00:00', "
        "DATE'2024-02-29'), (1, 'eu', 'ann', null, null)",
    )
    made = sql("SHOW CREATE TABLE arctic.shop.visits")[0][0]

    assert sql("SELECT id, region FROM arctic.shop.visits") == [(1, "eu"), (1, "eu")]
    wanted = ("region", "day(at)", "bucket(4, id)", "truncate(2, name)", "year(day)")
    assert arctic.open_table("shop.visits").partition_by == wanted
    sql(made.replace("arctic.shop.visits", "arctic.shop.again"))
    again = arctic.open_table("shop.again")
    # What Spark 4.1.0 writes has buckets behind all others.
    ordered = sorted if sql.spark.version == "4.1.0" else tuple
    assert ordered(again.partition_by) == ordered(wanted)
    assert again.schema.names == ["id", "region", "name", "at", "day"]


def test_a_key_is_written_again_as_it_was_said(sql: Sql) -> None:
    """Whatever its columns are called."""
    sql("CREATE TABLE arctic.shop.keyed (a INT, `b c` STRING, n INT, PRIMARY KEY (`b c`, a))")
    made = sql("SHOW CREATE TABLE arctic.shop.keyed")[0][0]

    assert "PRIMARY KEY (`b c`, a)" in made
    sql(made.replace("arctic.shop.keyed", "arctic.shop.again"))
    assert arctic.open_table("shop.again").primary_key == ("b c", "a")
    assert "PRIMARY KEY" not in sql("SHOW CREATE TABLE arctic.shop.keyed.files")[0][0]


def test_every_session_and_thread_finds_the_catalog(sql: Sql) -> None:
    """A new session has its rules too: a filter reaches the scan, and files are Spark's."""
    sql(
        "CREATE TABLE arctic.shop.t (id BIGINT, v STRING) TBLPROPERTIES (primaryKey = 'id')",
        "INSERT OVERWRITE arctic.shop.t SELECT id, 'v' FROM range(10)",
    )
    other = Sql(sql.spark.newSession(), sql.warehouse)
    found: list[Rows] = []
    thread = threading.Thread(
        target=lambda: found.append(other("SELECT count(*) FROM arctic.shop.t"))
    )
    thread.start()
    thread.join()

    assert found == [[(10,)]]
    plan = other("EXPLAIN SELECT id FROM arctic.shop.t WHERE id > 7")[0][0]
    assert "parquet" in plan
    assert other("SELECT id FROM arctic.shop.t WHERE id > 7 ORDER BY id") == [(8,), (9,)]
    other("USE arctic.shop", "INSERT INTO t VALUES (1, 'w')")
    assert other("SELECT v, count(*) FROM t GROUP BY v ORDER BY v") == [("v", 9), ("w", 1)]


def test_what_is_missing_or_there_already_is_told_in_sparks_words(sql: Sql) -> None:
    """So IF EXISTS, IF NOT EXISTS and CASCADE mean what they mean elsewhere."""
    sql("CREATE NAMESPACE arctic.a.b COMMENT 'deep'", "CREATE TABLE arctic.a.b.t (id INT)")

    assert "TABLE_OR_VIEW_NOT_FOUND" in sql.refused("SELECT * FROM arctic.a.b.none")
    assert "TABLE_OR_VIEW_NOT_FOUND" in sql.refused("SELECT * FROM arctic.a.b.`t.x`")
    assert "SCHEMA_NOT_FOUND" in sql.refused("SHOW TABLES IN arctic.none")
    assert "TABLE_OR_VIEW_ALREADY_EXISTS" in sql.refused("CREATE TABLE arctic.a.b.t (id INT)")
    assert "SCHEMA_ALREADY_EXISTS" in sql.refused("CREATE NAMESPACE arctic.a.b")
    assert "SCHEMA_NOT_EMPTY" in sql.refused("DROP NAMESPACE arctic.a.b")
    assert ("Comment", "deep") in sql("DESCRIBE NAMESPACE arctic.a.b")
    sql("ALTER NAMESPACE arctic.a.b SET PROPERTIES ('k' = 'v')")
    described: dict[str, str] = dict(sql("DESCRIBE NAMESPACE EXTENDED arctic.a.b"))
    assert "k" in described["Properties"]
    assert sql("SHOW NAMESPACES IN arctic.a") == [("a.b",)]
    sql("DROP TABLE arctic.a.b.t", "DROP TABLE IF EXISTS arctic.a.b.t")
    assert sql("SHOW TABLES IN arctic.a.b") == []
    sql("CREATE TABLE arctic.a.b.t (id INT)", "DROP NAMESPACE arctic.a CASCADE")
    assert sql("SHOW NAMESPACES IN arctic") == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("(id INT) USING csv", "leave USING out"),
        ("(id INT) LOCATION '/nowhere'", "leave LOCATION out"),
        ("(id INT, CHECK (id > 0))", "expected PRIMARY KEY only"),
        ("(id INT, n INT, PRIMARY KEY (id)) TBLPROPERTIES (primaryKey = 'n')", "expected one"),
        ("(id INT) TBLPROPERTIES (password = 'x')", "for everybody to read"),
        ("(id INT) TBLPROPERTIES ('self-optimizing.enable' = 'x')", "did you mean"),
        ("(id INTERVAL DAY)", "'id'"),
        ("(id STRING COLLATE UTF8_LCASE)", "column 'id': collation UTF8_LCASE"),
        ("AS SELECT map(1, array('a' COLLATE UNICODE_CI)) AS m", "column 'm.value.element': coll"),
        ("(id INT) PARTITIONED BY (none)", "none"),
    ],
)
def test_what_a_table_cannot_be_is_refused_and_nothing_is_left(
    sql: Sql, statement: str, said: str
) -> None:
    """With what to write instead."""
    assert said in sql.refused(f"CREATE TABLE arctic.shop.t {statement}")
    assert ("shop",) not in sql("SHOW NAMESPACES IN arctic") or not sql(
        "SHOW TABLES IN arctic.shop"
    )


def test_an_error_of_the_rows_is_sparks_own_and_commits_nothing(sql: Sql) -> None:
    """With its condition and its state, as if Spark had written itself."""
    sql("CREATE TABLE arctic.shop.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id))")

    for source, condition in (
        ("SELECT 1, raise_error('boom')", "USER_RAISED_EXCEPTION"),
        ("VALUES (null, 'x')", "NOT_NULL_ASSERT_VIOLATION"),
        ("SELECT 'text', 'x'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
    ):
        with pytest.raises(PySparkException) as caught:
            sql(f"INSERT INTO arctic.shop.t {source}")
        assert caught.value.getCondition() == condition
    with pytest.raises(AnalysisException, match="too many data columns"):
        sql("INSERT INTO arctic.shop.t SELECT 1, 'x', 2")
    assert sql.commits("shop.t") == 0
