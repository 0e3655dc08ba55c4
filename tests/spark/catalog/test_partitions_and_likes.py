"""Partitions that are listed, and tables that are made like others."""

from __future__ import annotations

import pytest

import arctic
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark


def test_partitions_are_listed_by_their_fields(sql: Sql) -> None:
    """Those that have rows; of a transform its value, as metadata writes it."""
    sql(
        "CREATE TABLE arctic.shop.t (id INT, city STRING, day DATE, PRIMARY KEY (id)) "
        "PARTITIONED BY (city, months(day))",
        "INSERT INTO arctic.shop.t VALUES (1, 'New York', DATE'2024-02-29'), (2, 'a/b', null), "
        "(3, null, DATE'2024-02-01'), (4, 'New York', DATE'2024-03-01')",
    )
    shown = sql("SHOW PARTITIONS arctic.shop.t")

    assert sorted(shown) == [
        ("city=New York/day_month=2024-02",),
        ("city=New York/day_month=2024-03",),
        ("city=__HIVE_DEFAULT_PARTITION__/day_month=2024-02",),
        ("city=a%2Fb/day_month=__HIVE_DEFAULT_PARTITION__",),
    ]
    only = sql("SHOW PARTITIONS arctic.shop.t PARTITION (CITY = 'New York')")
    assert sorted(only) == sorted(shown)[:2]
    assert sql("SHOW PARTITIONS arctic.shop.t PARTITION (city = 'Oslo')") == []
    sql("INSERT INTO arctic.shop.t VALUES (5, 'null', null)")
    assert len(sql("SHOW PARTITIONS arctic.shop.t")) == 5
    only = sql("SHOW PARTITIONS arctic.shop.t PARTITION (city = 'null')")
    assert only == [("city=null/day_month=__HIVE_DEFAULT_PARTITION__",)]
    only = sql("SHOW PARTITIONS arctic.shop.t PARTITION (city = null)")
    assert only == [("city=__HIVE_DEFAULT_PARTITION__/day_month=2024-02",)]
    sql("DELETE FROM arctic.shop.t WHERE id = 5")
    sql("DELETE FROM arctic.shop.t WHERE city = 'New York' AND day < DATE'2024-03-01'")
    arctic.optimize("shop.t", type="full")
    assert ("city=New York/day_month=2024-02",) not in sql("SHOW PARTITIONS arctic.shop.t")
    dropping = "ALTER TABLE arctic.shop.t DROP PARTITION (city = 'a/b', day_month = 'null')"
    assert sql.refused(dropping)
    assert arctic.open_table("shop.t").count() == 3
    sql("CREATE TABLE arctic.shop.u (id INT)")
    assert "not partitioned" in sql.refused("SHOW PARTITIONS arctic.shop.u")


def test_a_table_is_made_like_another(sql: Sql) -> None:
    """With its columns, key, partitions and properties, and none of its rows."""
    sql(
        "CREATE TABLE arctic.shop.t (id INT NOT NULL COMMENT 'the key', day DATE, "
        "PRIMARY KEY (id)) PARTITIONED BY (months(day), bucket(4, id)) COMMENT 'all' "
        "TBLPROPERTIES ('mine' = 'x', 'other' = 'y')",
        "INSERT INTO arctic.shop.t VALUES (1, null)",
        "CREATE TABLE arctic.shop.u LIKE arctic.shop.t TBLPROPERTIES ('mine' = 'z')",
        "CREATE TABLE IF NOT EXISTS arctic.shop.u LIKE arctic.shop.t",
    )
    source, made = arctic.open_table("shop.t"), arctic.open_table("shop.u")

    assert made.count() == 0
    assert (made.schema, made.primary_key) == (source.schema, source.primary_key)
    assert made.partition_by == source.partition_by == ("month(day)", "bucket(4, id)")
    assert (made.properties["mine"], made.properties["other"]) == ("z", "y")
    assert sql("DESCRIBE arctic.shop.u")[0] == ("id", "int", "the key")
    assert "already exists" in sql.refused("CREATE TABLE arctic.shop.u LIKE arctic.shop.t")
    other = "CREATE TABLE arctic.shop.w LIKE arctic.shop.t TBLPROPERTIES ('primary-key' = 'day')"
    assert "name two keys" in sql.refused(other)
    sql(
        "CREATE TEMPORARY VIEW seen AS SELECT 1 AS id",
        "CREATE TABLE arctic.shop.v LIKE seen TBLPROPERTIES (primaryKey = 'id')",
    )
    assert arctic.open_table("shop.v").primary_key == ("id",)
