"""The catalog of Spark above servers: a REST catalog, PostgreSQL, Hive's metastore, Glue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import arctic
from tests.serve import SERVERS
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark
SECRETS = {"token", "client.secret-access-key"}


@pytest.fixture(params=["rest", "postgres", "hive", "glue"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Start one; yield its name and what a client is configured with."""
    with SERVERS[request.param](tmp_path) as catalog:
        yield {"hive": "metastore"}.get(request.param, request.param), dict(catalog)


def settings(name: str, catalog: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark is told; what a catalog knows a client by is a secret."""
    place = f"spark.sql.catalog.{name}"
    told = {f"{place}.catalog.{'secret.' * (key in SECRETS)}{key}": catalog[key] for key in catalog}
    return {place: "arctic.spark.catalog.ArcticCatalog", **told}


def test_statements_work_on_a_server(spark: SparkSession, server: tuple[str, Any]) -> None:
    """Tables are made, filled, merged into, replaced, renamed, looked at, cleaned and dropped."""
    name, catalog = server
    for key, value in settings(name, catalog).items():
        spark.conf.set(key, value)
    sql, t = Sql(spark, ""), f"{name}.shop.t"
    with small_plans(spark):
        sql(
            f"CREATE NAMESPACE {name}.shop",
            f"CREATE TABLE {t} (id BIGINT, city STRING, PRIMARY KEY (id)) PARTITIONED BY (city)",
            f"INSERT INTO {t} VALUES (1, 'Rome'), (2, 'Oslo')",
            f"CREATE TABLE {t}2 AS SELECT id + 1 AS id, 'Bern' AS city FROM {t}",
            f"CALL {name}.system.create_tag('shop.t', 'first')",
        )
        merge = f"MERGE INTO {t} t USING {t}2 s ON t.id = s.id "
        sql(merge + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
        sql(merge + "WHEN NOT MATCHED BY SOURCE AND t.city = 'Rome' THEN UPDATE SET city = 'Cork'")
        sql(f"DELETE FROM {t} WHERE id = 3", f"UPDATE {t}2 SET city = 'Lima' WHERE id = 2")
        assert sql(f"SELECT * FROM {t} ORDER BY id") == [(1, "Cork"), (2, "Bern")]
        assert sql(f"SELECT * FROM {t} VERSION AS OF 'first' ORDER BY id") == [
            (1, "Rome"),
            (2, "Oslo"),
        ]
        assert sql(f"SELECT store, count(*) FROM {t}.snapshots GROUP BY store") == [("change", 4)]
        sql(f"CALL {name}.system.optimize('shop.t', type => 'full')")
        sql(f"CALL {name}.system.rollback_to_snapshot('shop.t', {_first(sql, name)})")
        assert sql(f"SELECT count(*) FROM {t}") == [(2,)]
        sql(
            f"CREATE OR REPLACE TABLE {t} TBLPROPERTIES (primaryKey = 'id') AS "
            f"SELECT t.id, s.city FROM {t} t JOIN {t}2 s ON t.id = s.id",
            f"ALTER TABLE {t} RENAME TO shop.towns",
        )
        assert sql(f"SELECT * FROM {name}.shop.towns") == [(2, "Lima")]
        assert sorted(row[1] for row in sql(f"SHOW TABLES IN {name}.shop")) == ["t2", "towns"]
        found = arctic.read("shop.towns", catalog=catalog).read_all().to_pylist()
        assert found == [{"id": 2, "city": "Lima"}]
        sql(f"DROP TABLE {name}.shop.towns PURGE", f"DROP NAMESPACE {name}.shop CASCADE")
        assert arctic.list_tables(catalog=catalog) == []


def _first(sql: Sql, name: str) -> int:
    """Return the snapshot of the oldest version of the table."""
    return int(sql(f"CALL {name}.system.versions('shop.t')")[0][5])
