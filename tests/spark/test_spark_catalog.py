"""Tables of Spark's own catalog, which are none of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from arctic.errors import InvalidInputError
from arctic.spark.source import ArcticDataSource
from tests.spark.lake import Lake

pytestmark = pytest.mark.spark

Attempt = Callable[[SparkSession], object]
ATTEMPTS: dict[str, Attempt] = {
    sql: lambda spark, sql=sql: spark.sql(sql)  # type: ignore[misc]
    for sql in (
        "CREATE TABLE entry (id long) USING arctic",
        "CREATE TABLE IF NOT EXISTS entry (id long, day date) USING Arctic PARTITIONED BY (day)",
        "CREATE TABLE entry USING arctic",
        "CREATE TABLE entry (id long) USING arctic OPTIONS (path 'db.t', primaryKey 'id')",
        "CREATE TABLE entry USING arctic OPTIONS (path 'db.t')",
        "CREATE TABLE entry (id long) USING arctic LOCATION '/nowhere/at/all'",
        "CREATE TABLE entry (id long) USING arctic TBLPROPERTIES (primaryKey = 'id')",
        "CREATE TABLE entry USING arctic AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE entry USING arctic AS SELECT 1 AS id",
    )
}
ATTEMPTS |= {
    "saveAsTable": lambda spark: spark.range(1).write.format("arctic").saveAsTable("entry"),
    "saveAsTable with a path": lambda spark: spark.range(1).write.saveAsTable(
        "entry", format="Arctic", mode="overwrite", path="db.t", primaryKey="id"
    ),
    "writeTo": lambda spark: spark.range(1).writeTo("entry").using("arctic").create(),
    "catalog": lambda spark: spark.catalog.createTable(
        "entry", source="arctic", schema=spark.range(1).schema
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_table_of_sparks_catalog_is_refused_and_nothing_is_left(
    spark: SparkSession, attempt: str
) -> None:
    """When it is made, not when it is read; the error says what to write instead."""
    with pytest.raises((PySparkException, InvalidInputError)) as caught:
        ATTEMPTS[attempt](spark)

    message = str(caught.value)
    assert "entry" in message
    assert "an entry of Spark's own catalog is no Arctic table" in message
    assert "CREATE TABLE arctic.namespace.table (id BIGINT, PRIMARY KEY (id))" in message
    assert "saveAsTable('arctic.namespace.table')" in message
    assert ".save('namespace.table')" in message
    assert "arctic.create_table" in message
    assert "CREATE TEMPORARY VIEW ... USING arctic OPTIONS (path 'namespace.table')" in message
    assert not spark.catalog.tableExists("entry")


def test_other_formats_make_tables_as_ever(spark: SparkSession, lake: Lake) -> None:
    """And a view is the way to name one of ours in SQL."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    lake.view("seen")
    place = f"{lake.warehouse}/plain"
    spark.sql(f"CREATE TABLE plain USING parquet LOCATION '{place}' AS SELECT * FROM seen")

    assert [tuple(row) for row in spark.table("plain").collect()] == [(1, "eu", 1.0)]
    spark.sql("DROP TABLE plain")


@pytest.mark.parametrize("options", [{}, {"owner": "me"}, {"owner": "me", "path": "file:/x/db.t"}])
def test_an_entry_that_is_there_is_refused_where_it_is_used(options: dict[str, str]) -> None:
    """Made in a session that is not registered, it reaches the source with these options."""
    source = ArcticDataSource(options)
    for use in (
        source.schema,
        lambda: source.reader(StructType()),
        lambda: source.writer(StructType(), overwrite=False),
    ):
        with pytest.raises(InvalidInputError, match=r"no Arctic table, .* DROP TABLE an entry"):
            use()
