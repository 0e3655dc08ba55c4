"""How often Spark's own calls ask a catalog far away, counted where it answers, in any process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import arctic
from arctic.job.read import partial_scan
from arctic.scan import worth_grouping
from arctic.spark.jvm.install_catalog import CATALOG_CLASS
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server
from tests.spark.lake import COLUMNS, NAME, SCHEMA

pytestmark = pytest.mark.spark

BASE, CHANGE = "load events", "load events_change_"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    """Return a catalog with a table that has rows in both of its stores."""
    with rest_server(tmp_path) as server:
        arctic.create_table(NAME, SCHEMA, primary_key=["id"], catalog=server.properties)
        for mode in ("overwrite", "upsert"):
            rows = pa.Table.from_pylist([{"id": 1, "region": "eu", "amount": 1.0}], SCHEMA)
            arctic.write(NAME, rows, mode=mode, catalog=server.properties)
        yield server


def _options(server: RestServer) -> dict[str, str]:
    return {f"catalog.{name}": text for name, text in server.properties.items()}


def _asked(server: RestServer) -> Counter[str]:
    words = {"GET": "load", "POST": "commit"}
    calls = [
        f"{words[method]} {path.rpartition('/')[2]}"
        for method, path in server.asked
        if "/tables/" in path and method in words
    ]
    server.asked.clear()
    return Counter(calls)


def test_a_save_loads_each_store_twice_and_commits_once(
    spark: SparkSession, server: RestServer
) -> None:
    """Its tasks, and what Spark looks up before, ask for nothing."""
    frame = spark.createDataFrame([(1, "eu", 2.0), (2, "us", 3.0)], COLUMNS)
    server.asked.clear()
    frame.write.format("arctic").mode("upsert").options(**_options(server)).save(NAME)

    assert _asked(server) == {BASE: 2, CHANGE: 2, "commit events_change_": 1}


def test_a_read_loads_each_store_once_for_its_columns_and_once_for_its_plan(
    spark: SparkSession, server: RestServer
) -> None:
    """Which are two moments: a frame that was loaded reads what is there when it runs."""
    server.asked.clear()
    frame = spark.read.format("arctic").options(**_options(server)).load(NAME)
    loaded = _asked(server)
    rows = frame.collect()

    assert len(rows) == 1
    assert (loaded, _asked(server)) == ({BASE: 1, CHANGE: 1}, {BASE: 1, CHANGE: 1})


QUERIES = {
    "rows": "SELECT * FROM t",
    "a count": "SELECT count(*) FROM t",
    "sums that tasks make": "SELECT region, sum(id) FROM t GROUP BY region",
    "sums that they do not": "SELECT region, sum(amount) FROM t GROUP BY region",
    "sums of filtered rows": "SELECT region, sum(id) FROM t WHERE id > 0 GROUP BY region",
    "and those that they do not make": "SELECT region, sum(amount) FROM t WHERE id > 0 GROUP BY 1",
    "a self-join": "SELECT * FROM t JOIN t u USING (id) WHERE u.id > 0",
    "a self-join of sums": "SELECT * FROM (SELECT max(id) m FROM t) JOIN t ON m = id",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize(("by_name", "loads"), [(False, 1), (True, 2)])
def test_a_query_loads_each_store_once(
    spark: SparkSession,
    server: RestServer,
    query: str,
    by_name: bool,
    loads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However often it asks: what metadata knows, what tasks make, how each scan is read.

    By its name in a catalog a table is looked up when the query is read, and that is a moment of
    its own too. The next query does all of it again, and has what was committed meanwhile.
    """
    monkeypatch.setattr(partial_scan, "LEAST_ROWS", 1)
    monkeypatch.setattr(worth_grouping, "LEAST_ROWS_OF_A_GROUP", 1)
    if by_name:
        far = f"far_{server.uri.rpartition(':')[2]}"  # Spark opens a catalog of a name once
        spark.conf.set(f"spark.sql.catalog.{far}", CATALOG_CLASS)
        for key, text in _options(server).items():
            spark.conf.set(f"spark.sql.catalog.{far}.{key}", text)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM {far}.{NAME}")
    else:
        rows = spark.read.format("arctic").options(**_options(server)).load(NAME)
        rows.createOrReplaceTempView("t")
    server.asked.clear()

    before = spark.sql(query).collect()
    assert _asked(server) == {BASE: loads, CHANGE: loads}
    more = pa.Table.from_pylist([{"id": 2, "region": "us", "amount": 2.0}], SCHEMA)
    arctic.write(NAME, more, mode="upsert", catalog=server.properties)
    server.asked.clear()
    assert spark.sql(query).collect() != before
    assert _asked(server) == {BASE: loads, CHANGE: loads}


def test_a_count_that_metadata_knows_loads_each_store_once(
    spark: SparkSession, server: RestServer
) -> None:
    """Where all is merged; nothing else is asked then."""
    arctic.optimize(NAME, type="full", catalog=server.properties)
    frame = spark.read.format("arctic").options(**_options(server)).load(NAME)
    server.asked.clear()

    assert frame.count() == 1
    assert _asked(server) == {BASE: 1, CHANGE: 1}
