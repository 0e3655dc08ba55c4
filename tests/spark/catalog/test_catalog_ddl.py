"""Tables that are made with their rows, replaced and changed in SQL."""

from __future__ import annotations

import pytest

import arctic
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

KEYED = "TBLPROPERTIES (primaryKey = 'id')"


def test_a_table_is_made_with_its_rows_or_not_at_all(sql: Sql) -> None:
    """A key that the query gives twice is one row; a query that fails leaves no table."""
    sql(f"CREATE TABLE arctic.shop.t {KEYED} AS SELECT id % 3 AS id, 'v' AS v FROM range(6)")
    failing = "SELECT 1 AS id, CAST(raise_error('boom') AS STRING) AS v"

    assert sql.rows("shop.t") == [(0, "v"), (1, "v"), (2, "v")]
    assert arctic.open_table("shop.t").primary_key == ("id",)
    assert "boom" in sql.refused(f"CREATE TABLE arctic.shop.u {KEYED} AS {failing}")
    assert "already exists" in sql.refused("CREATE TABLE arctic.shop.t AS SELECT 1 AS id")
    assert sql("CREATE TABLE IF NOT EXISTS arctic.shop.t AS SELECT 1 AS id") == []
    assert sql("SHOW TABLES IN arctic.shop") == [("shop", "t", False)]
    assert sql.rows("shop.t") == [(0, "v"), (1, "v"), (2, "v")]
    retyped = "ALTER TABLE arctic.shop.t ALTER COLUMN v TYPE STRING COLLATE UTF8_LCASE"
    assert "column 'v': collation UTF8_LCASE" in sql.refused(retyped)


def test_a_table_is_replaced_when_the_other_is_whole(sql: Sql) -> None:
    """Until then it stays, also when the rows of the other fail, which may come from itself."""
    sql(f"CREATE TABLE arctic.shop.t {KEYED} AS SELECT id, 'v' AS v FROM range(3)")
    failing = "SELECT id, CAST(raise_error('boom') AS STRING) AS v FROM arctic.shop.t"

    assert "boom" in sql.refused(f"CREATE OR REPLACE TABLE arctic.shop.t {KEYED} AS {failing}")
    assert sql.rows("shop.t") == [(0, "v"), (1, "v"), (2, "v")]
    assert sql("SHOW TABLES IN arctic.shop") == [("shop", "t", False)]
    sql(
        "CREATE OR REPLACE TABLE arctic.shop.t PARTITIONED BY (v) "
        "AS SELECT v, count(*) AS n FROM arctic.shop.t GROUP BY v"
    )
    assert sql("SELECT * FROM arctic.shop.t") == [("v", 3)]
    replaced = arctic.open_table("shop.t")
    assert (replaced.primary_key, replaced.partition_by) == ((), ("v",))
    sql("REPLACE TABLE arctic.shop.t (id INT, PRIMARY KEY (id))")
    assert sql.rows("shop.t") == []
    sql("CREATE OR REPLACE TABLE arctic.shop.new AS SELECT 1 AS id")
    assert sql.rows("shop.new") == [(1,)]
    assert "NOT_FOUND" in sql.refused("REPLACE TABLE arctic.shop.none (id INT)")
    assert arctic.list_tables("shop") == ["shop.new", "shop.t"]


DOTTED = [
    "SELECT * FROM arctic.shop.`x.y`",
    "CREATE TABLE arctic.shop.`x.z` (id BIGINT)",
    "CREATE TABLE arctic.shop.`x.z` AS SELECT 9L AS id",
    "CREATE OR REPLACE TABLE arctic.shop.`x.y` AS SELECT 99L AS id",
    "CREATE OR REPLACE TABLE arctic.shop.`x.y` (id BIGINT)",
    "REPLACE TABLE arctic.shop.`x.y` AS SELECT 99L AS id",
    "CREATE TABLE arctic.`shop.x`.z (id BIGINT)",
    "CREATE TABLE arctic.shop.`x.z` LIKE arctic.shop.x.y",
    "ALTER TABLE arctic.shop.`x.y` ADD COLUMN n INT",
    "ALTER TABLE arctic.shop.`x.y` RENAME TO arctic.shop.w",
    "ALTER TABLE arctic.shop.x.y RENAME TO arctic.shop.`x.w`",
    "INSERT INTO arctic.shop.`x.y` VALUES (3)",
    "DELETE FROM arctic.shop.`x.y`",
    "TRUNCATE TABLE arctic.shop.`x.y`",
    "DROP TABLE arctic.shop.`x.y`",
    "SHOW TABLES IN arctic.`shop.x`",
    "DESCRIBE NAMESPACE arctic.`shop.x`",
    "USE arctic.`shop.x`",
    "DROP NAMESPACE arctic.`shop.x` CASCADE",
    "CREATE NAMESPACE arctic.`shop.q`",
    "CREATE TABLE arctic.t (id BIGINT)",
]


def test_a_name_with_a_dot_is_that_of_nothing(sql: Sql) -> None:
    """Nor of the table of another namespace that would be written so."""
    sql(
        "CREATE TABLE arctic.shop.x.y (id BIGINT)",
        "INSERT INTO arctic.shop.x.y VALUES (1), (2)",
    )
    try:
        for statement in DOTTED:
            assert sql.refused(statement)
    finally:
        sql("USE spark_catalog.default")  # a USE that fails has set the catalog
    sql("DROP TABLE IF EXISTS arctic.shop.`x.y`")

    assert arctic.list_tables() == ["shop.x.y"]
    assert sql.rows("shop.x.y") == [(1,), (2,)]
    assert sql("SHOW NAMESPACES IN arctic.shop") == [("shop.x",)]


def test_columns_are_added_renamed_retyped_moved_and_dropped(sql: Sql) -> None:
    """Of a table with rows, which stay; what would lose or empty values is refused."""
    sql(
        "CREATE TABLE arctic.shop.t (id INT, v INT NOT NULL, old STRING, PRIMARY KEY (id))",
        "INSERT INTO arctic.shop.t VALUES (1, 10, 'x')",
        "ALTER TABLE arctic.shop.t ADD COLUMNS (w INT COMMENT 'wide' FIRST, x DECIMAL(5, 2))",
        "ALTER TABLE arctic.shop.t ALTER COLUMN w TYPE BIGINT",
        "ALTER TABLE arctic.shop.t ALTER COLUMN v DROP NOT NULL",
        "ALTER TABLE arctic.shop.t ALTER COLUMN V COMMENT 'value'",
        "ALTER TABLE arctic.shop.t ALTER COLUMN x AFTER id",
        "ALTER TABLE arctic.shop.t RENAME COLUMN v TO value",
        "ALTER TABLE arctic.shop.t DROP COLUMN old",
        "ALTER TABLE arctic.shop.t DROP COLUMN IF EXISTS old",
        "ALTER TABLE arctic.shop.t ADD COLUMN none INT DEFAULT NULL",
        "ALTER TABLE arctic.shop.t DROP COLUMN none",
        "INSERT INTO arctic.shop.t VALUES (20000000000, 2, 1.5, null)",
    )

    assert sql("DESCRIBE arctic.shop.t") == [
        ("w", "bigint", "wide"),
        ("id", "int", None),
        ("x", "decimal(5,2)", None),
        ("value", "int", "value"),
    ]
    assert sql("SELECT id, value, w, CAST(x AS STRING) FROM arctic.shop.t ORDER BY id") == [
        (1, 10, None, None),
        (2, None, 20000000000, "1.50"),
    ]
    assert sql("SHOW COLUMNS IN arctic.shop.t") == [("w",), ("id",), ("x",), ("value",)]
    for change, said in (
        ("ADD COLUMN id INT", "already"),
        ("ADD COLUMN n INT DEFAULT 1", "a default value needs"),
        ("ALTER COLUMN w TYPE INT", "INT"),
        ("ALTER COLUMN id TYPE BIGINT", "part of its key"),
        ("ALTER COLUMN value SET NOT NULL", "non-nullable"),
        ("RENAME COLUMN id TO key", "part of its key"),
        ("DROP COLUMN id", "part of its key"),
        ("ALTER COLUMN id DROP NOT NULL", "part of its key"),
        ("DROP COLUMN none", "none"),
        ("REPLACE COLUMNS (id INT, w BIGINT)", "would empty"),
        ("REPLACE COLUMNS (ID INT, W BIGINT)", "would empty"),
        ("SET LOCATION '/elsewhere'", "leave LOCATION out"),
        ("ADD CONSTRAINT c CHECK (w > 0)", "not known"),
        ("ADD COLUMN z STRING COLLATE UTF8_LCASE", "column 'z': collation UTF8_LCASE"),
        ("ADD COLUMN z STRUCT<a: STRING COLLATE UNICODE_CI>", "column 'z.a': collation UNICODE_CI"),
    ):
        assert said in sql.refused(f"ALTER TABLE arctic.shop.t {change}"), change
    arctic.optimize("shop.t", type="full")
    assert sql.rows("shop.t") == [(20000000000, 2, *sql.rows("shop.t")[0][2:]), (None, 1, None, 10)]


def test_properties_names_and_comments_are_changed(sql: Sql) -> None:
    """A property of the user's own is kept and given back; the key is none to be changed."""
    sql(
        f"CREATE TABLE arctic.shop.t (id INT) {KEYED}",
        "INSERT INTO arctic.shop.t VALUES (1)",
        "ALTER TABLE arctic.shop.t SET TBLPROPERTIES (mine = 'x', 'write.insert-mode' = 'append')",
        "COMMENT ON TABLE arctic.shop.t IS 'all'",
        "INSERT INTO arctic.shop.t VALUES (1)",
    )

    assert sql("SELECT * FROM arctic.shop.t") == [(1,), (1,)]
    assert dict(sql("SHOW TBLPROPERTIES arctic.shop.t")) == {
        "mine": "x",
        "primaryKey": "id",
        "write.insert-mode": "append",
    }
    detailed = {row[0]: row[1] for row in sql("DESCRIBE EXTENDED arctic.shop.t")}
    assert detailed["Comment"] == "all"
    assert "stays" in sql.refused("ALTER TABLE arctic.shop.t SET TBLPROPERTIES (primaryKey = 'x')")
    assert "expected" in sql.refused(
        "ALTER TABLE arctic.shop.t SET TBLPROPERTIES ('write.insert-mode' = 'merge')"
    )
    sql(
        "ALTER TABLE arctic.shop.t UNSET TBLPROPERTIES ('mine', 'write.insert-mode')",
        "ALTER TABLE arctic.shop.t RENAME TO other.u",
        "ALTER TABLE arctic.other.u RENAME TO arctic.other.v",
        "CREATE TABLE arctic.other.w (id INT)",
    )
    assert dict(sql("SHOW TBLPROPERTIES arctic.other.v")) == {"primaryKey": "id"}
    assert "already exists" in sql.refused("ALTER TABLE arctic.other.v RENAME TO other.w")
    sql("DROP TABLE arctic.other.v PURGE", "DROP TABLE arctic.other.w")
    assert arctic.list_tables() == []


def test_a_past_state_is_read_by_its_number_a_tag_and_a_time(sql: Sql) -> None:
    """Only read; and an option says no other state than the statement."""
    sql(f"CREATE TABLE arctic.shop.t (id INT) {KEYED}", "INSERT INTO arctic.shop.t VALUES (1)")
    first = arctic.open_table("shop.t").history().to_pylist()[0]
    sql("INSERT INTO arctic.shop.t VALUES (2)")
    snapshot, at = first["snapshot_id"], first["committed_at"]
    arctic.open_table("shop.t").tag("first", version=str(snapshot))

    past = "SELECT * FROM arctic.shop.t"
    assert sql(f"{past} VERSION AS OF {snapshot}") == [(1,)]
    assert sql(f"{past} VERSION AS OF 'first'") == [(1,)]
    assert sql(f"{past} TIMESTAMP AS OF '{at.isoformat()}'") == [(1,)]
    assert len(sql(past)) == 2
    assert sql(f"{past} WITH (`snapshot-id` = {snapshot})") == [(1,)]
    read = sql.spark.read.option("snapshot-id", str(snapshot))
    assert [tuple(row) for row in read.table("arctic.shop.t").collect()] == [(1,)]
    both = f"{past} WITH (`snapshot-id` = 5) VERSION AS OF {snapshot}"
    assert sql.refused(both)
    assert sql(f"{past} VERSION AS OF 1") == [(1,)]
    assert "'second'" in sql.refused(f"{past} VERSION AS OF 'second'")
    joined = f"{past} a LEFT ANTI JOIN arctic.shop.t VERSION AS OF {snapshot} b ON a.id = b.id"
    assert sql(joined) == [(2,)]
