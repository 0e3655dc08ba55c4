"""How often Spark's own calls ask a catalog far away, counted where it answers, in any process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import arctic
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


def test_a_count_asks_once_whether_metadata_knows_it(
    spark: SparkSession, server: RestServer
) -> None:
    """Where changes are not merged it does not, and the rows are read."""
    for loads in (2, 1):
        frame = spark.read.format("arctic").options(**_options(server)).load(NAME)
        server.asked.clear()

        assert frame.count() == 1
        assert _asked(server) == {BASE: loads, CHANGE: loads}
        arctic.optimize(NAME, type="full", catalog=server.properties)
