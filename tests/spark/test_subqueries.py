"""Subqueries of every kind: planned first, and joined with the query after that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import arctic
from tests.spark.lake import shown_plan, with_settings
from tests.spark.test_deletion_vectors import VECTORS
from tests.spark.test_partial_aggregates import take_few_rows

pytestmark = pytest.mark.spark

COUNT = 400
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("amount", pa.float64()),
        pa.field("ratio", pa.float32()),
    ]
)
TABLES = ("settled", "changed", "bucketed")
QUERIES = {
    "in": "SELECT k FROM x WHERE k IN (SELECT id FROM {t} WHERE amount > 90)",
    "not in": "SELECT k FROM x WHERE k NOT IN (SELECT id FROM {t} WHERE amount > 90)",
    "pairs": "SELECT k FROM x WHERE (k, 0) IN (SELECT id, n FROM {t} WHERE ratio >= 90)",
    "exists": "SELECT k FROM x WHERE EXISTS (SELECT 1 FROM {t} t WHERE t.id = k AND amount > 90)",
    "not exists": "SELECT k FROM x WHERE NOT EXISTS (SELECT 1 FROM {t} t WHERE t.id = k AND "
    "NOT amount < 1)",
    "scalar": "SELECT k FROM x WHERE k > (SELECT max(id) - 30 FROM {t} WHERE amount > 90)",
    "zero": "SELECT k FROM x WHERE k IN (SELECT id FROM {t} WHERE amount = 0.0D)",
    "scalar in a filter": "SELECT id FROM {t} WHERE amount >= (SELECT max(amount) FROM {t})",
    "number of a key": "SELECT k, (SELECT count(*) FROM {t} t WHERE t.id = k AND amount > 90) "
    "FROM x",
    "no row": "SELECT k FROM x WHERE (SELECT count(*) FROM {t} t WHERE t.id = k + 390) = 0",
    "no such row": "SELECT k FROM x WHERE (SELECT count(n) FROM {t} t WHERE t.id = k AND n > 3) "
    "= 0",
    "count of all, or of none": "SELECT k, (SELECT count(*) FROM {t} WHERE k > 10) FROM x",
    "count of a column": "SELECT k, (SELECT count(n) + 1 FROM {t} WHERE k > 10) FROM x",
    "having": "SELECT k, (SELECT count(*) FROM {t} t WHERE t.n = k HAVING count(*) <> 1) FROM x",
    "sum": "SELECT k, (SELECT sum(n) FROM {t} t WHERE t.id = k AND ratio > 90) FROM x",
    "lateral": "SELECT k, c, m FROM x, LATERAL (SELECT count(*) c, max(amount) m FROM {t} t "
    "WHERE t.id = k AND amount > 90)",
    "lateral rows": "SELECT k, n FROM x JOIN LATERAL (SELECT n FROM {t} t WHERE t.id = k "
    "AND ratio > 90)",
    "groups within": "SELECT k FROM x WHERE k IN (SELECT id FROM {t} WHERE amount > 90 "
    "GROUP BY id)",
    "groups by key": "SELECT id, count(*), max(amount) FROM {t} WHERE amount > 3 GROUP BY id",
    "joined with itself": "SELECT a.id, b.n FROM {t} a JOIN {t} b ON a.id = b.id "
    "WHERE a.amount > 90 AND b.id IN (SELECT id FROM {t} WHERE ratio > 90)",
    "common": "WITH c AS (SELECT id FROM {t} WHERE amount > 90) SELECT k FROM x "
    "WHERE k IN (TABLE c) UNION ALL SELECT id FROM c",
    "of another subquery": "SELECT k FROM x WHERE k IN (SELECT id FROM {t} WHERE amount > 90 "
    "AND id IN (SELECT id FROM {t} WHERE ratio > 90))",
    "or": "SELECT k FROM x WHERE k < 3 OR EXISTS (SELECT 1 FROM {t} t WHERE t.id = k "
    "AND amount > 90)",
    "limit": "SELECT count(*) FROM x WHERE k IN (SELECT id FROM {t} WHERE amount > 90 "
    "ORDER BY id LIMIT 5)",
}


def _rows(numbers: range, factor: int = 1) -> pa.Table:
    """Return rows: of each ten one has NaN, one -0.0, one 0.0, and one no value."""
    wrong = (float("nan"), -0.0, 0.0, None)
    floats = [wrong[n % 10] if n % 10 < 4 else float(n % 10) for n in numbers]
    return pa.table(
        [numbers, [None if n % 7 == 3 else n * factor % 5 for n in numbers], floats, floats],
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Views of a table without deletes, one with many, one in buckets, and of their rows alone."""
    folder = str(tmp_path_factory.mktemp("subqueries"))
    for name in TABLES:
        place: dict[str, Any] = {"warehouse": folder}
        arctic.create_table(
            f"db.{name}",
            SCHEMA,
            primary_key=["id"],
            partition_by=["bucket(2, id)"] if name == "bucketed" else [],
            properties={"write.parquet.row-group-limit": "50"},
            **place,
        )
        arctic.write(f"db.{name}", _rows(range(COUNT)), mode="overwrite", **place)
        if name != "settled":
            arctic.write(f"db.{name}", _rows(range(0, 60, 3), 2), mode="upsert", **place)
            gone = _rows(range(100, 200, 10)).select(["id"])
            arctic.write(f"db.{name}", gone, mode="delete", **place)
        reader = spark.read.format("arctic").options(**place, **VECTORS)
        reader.load(f"db.{name}").createOrReplaceTempView(name)
        merged = arctic.read(f"db.{name}", **place).read_all()
        spark.createDataFrame(merged).createOrReplaceTempView(f"{name}_merged")
    spark.range(60).withColumnRenamed("id", "k").createOrReplaceTempView("x")
    yield folder
    for name in (*TABLES, *(f"{each}_merged" for each in TABLES), "x"):
        spark.catalog.dropTempView(name)


def _answers(spark: SparkSession, table: str) -> list[tuple[str, str]]:
    """Return the rows of all queries, as texts: NaN equals no NaN, and 0.0 no -0.0.

    One job for all of them costs less than a job for each.
    """
    named = [
        f"SELECT '{name}' AS query, to_json(struct(*)) AS answer FROM ({query.format(t=table)})"
        for name, query in QUERIES.items()
    ]
    return sorted(map(tuple, spark.sql(" UNION ALL ".join(named)).collect()))


ALL_SHUFFLED = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_subquery_reads_the_rows_of_its_table(
    spark: SparkSession, tables: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of NaN, of dead rows, and where there is none: whatever becomes of its plan."""
    take_few_rows(monkeypatch)
    with with_settings(spark, ALL_SHUFFLED if table == "bucketed" else {}):
        assert _answers(spark, table) == _answers(spark, f"{table}_merged")


def test_spark_reads_the_files_of_a_subquery(spark: SparkSession, tables: str) -> None:
    """Or nothing of the above would be tried."""
    plan = shown_plan(spark.sql(QUERIES["in"].format(t="changed")))

    assert "_arctic_first_row" in plan
    assert plan.count("FileScan parquet") == 1


STATEMENTS = {
    "DELETE FROM {t} WHERE id IN (SELECT id FROM {e} WHERE amount > 90)": [1, 2],
    "DELETE FROM {t} t WHERE NOT EXISTS (SELECT 1 FROM {e} e WHERE e.id = t.id AND amount > 90)": [
        0
    ],
    "DELETE FROM {t} WHERE id <> (SELECT min(id) FROM {e} WHERE amount > 90)": [0],
    "DELETE FROM {t} t WHERE (SELECT count(*) FROM {e} e WHERE e.id = t.id + 398) = 0": [0, 1],
    "UPDATE {t} SET id = id + 10 WHERE id IN (SELECT id FROM {e} WHERE ratio > 90)": [1, 2, 10],
    "MERGE INTO {t} t USING (SELECT id FROM {e} WHERE amount > 90 AND id < 3) e ON t.id = e.id "
    "WHEN MATCHED THEN DELETE": [1, 2],
    "MERGE INTO {t} t USING (SELECT k FROM x WHERE k < 3 AND k IN (SELECT id FROM {e} "
    "WHERE amount > 90)) e ON t.id = e.k WHEN NOT MATCHED BY SOURCE THEN DELETE": [0],
    "INSERT INTO {t} SELECT k + 7 FROM x WHERE k < 3 AND k IN (SELECT id FROM {e} "
    "WHERE amount > 90)": [0, 1, 2, 7],
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_changes_the_rows_that_its_subquery_finds(
    spark: SparkSession, tables: str, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """Its plan is optimized once more, when its rows are written."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", tables)
    name = "arctic.db.target"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, PRIMARY KEY (id))")
    try:
        spark.sql(f"INSERT INTO {name} VALUES (0), (1), (2)")
        spark.sql(statement.format(t=name, e="arctic.db.settled"))
        assert [row.id for row in spark.sql(f"SELECT id FROM {name} ORDER BY id").collect()] == (
            STATEMENTS[statement]
        )
    finally:
        spark.sql(f"DROP TABLE {name}")
