"""A mirror of PostgreSQL whose rows the tasks of a session write."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import arctic
from tests.postgres.cluster import running_cluster
from tests.postgres.source import Source

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_session_writes_the_copy_and_the_changes(spark: SparkSession, tmp_path: Path) -> None:
    """Keys that move, a truncate, a new column and times of every kind; Spark reads the same."""
    with running_cluster() as dsn:
        source = Source(dsn, tmp_path)
        try:
            _follow(source, spark)
        finally:
            source.close()


def _follow(source: Source, spark: SparkSession) -> None:
    write = arctic.spark_writer(spark)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY, n numeric(9,2), at timestamp, seen timestamptz, "
        "b bytea)",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "INSERT INTO t SELECT i, i / 3.0, '2026-03-29 02:30:00.25', now(), '\\x00ff' "
        "FROM generate_series(1, 200) i",
    )
    source.mirror(write=write)
    source.check()
    source.run(
        "UPDATE t SET n = -n WHERE id % 4 = 0",
        "UPDATE t SET id = id + 1000 WHERE id % 9 = 0",
        "DELETE FROM t WHERE id % 5 = 0",
        "ALTER TABLE t ADD COLUMN more text DEFAULT 'x'",
        "INSERT INTO t (id) VALUES (5000)",
    )
    source.mirror(write=write)
    source.check()
    frame = spark.read.format("arctic").option("warehouse", str(source.warehouse)).load("m.t")
    assert frame.where("more = 'x'").count() == len(source.rows())
    source.run("TRUNCATE t", "INSERT INTO t (id) VALUES (1)")
    source.mirror(write=write)
    source.check()
