"""Which folder is meant where no option names it: that of the session's process, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import arctic
from tests.spark.lake import NAME

pytestmark = pytest.mark.spark

VARIABLE = "ARCTIC_WAREHOUSE"


def save(spark: SparkSession, ids: list[int]) -> None:
    """Upsert rows to the table of the test, without a word about its place."""
    frame = spark.createDataFrame([(number,) for number in ids], "id long")
    frame.write.format("arctic").option("primaryKey", "id").mode("upsert").save(NAME)


def ids(frame: DataFrame) -> list[Any]:
    """Return the keys of a frame, sorted."""
    return sorted(row.id for row in frame.select("id").collect())


def test_a_variable_that_is_set_in_a_session_counts_for_all_that_follows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes, reads, views, streams and optimizing meet in one folder.

    What was made before keeps the folder that it was made with.
    """
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    monkeypatch.setenv(VARIABLE, old)
    save(spark, [1])
    reading = spark.read.format("arctic").load(NAME)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW placed USING arctic OPTIONS (path '{NAME}')")
    handle = arctic.open_table(NAME)

    monkeypatch.setenv(VARIABLE, new)
    save(spark, [2, 3])
    assert ids(spark.read.format("arctic").load(NAME)) == [2, 3]
    assert (ids(reading), ids(spark.table("placed"))) == ([1], [1])
    assert handle.read().read_all().num_rows == 1

    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW placed USING arctic OPTIONS (path '{NAME}')")
    spark.sql("INSERT INTO placed VALUES (4)")
    assert ids(spark.table("placed")) == [2, 3, 4]
    copied = spark.readStream.format("arctic").load(NAME).select("id")
    writer = copied.writeStream.format("arctic").trigger(availableNow=True)
    writer = writer.options(checkpointLocation=str(tmp_path / "checkpoint"), primaryKey="id")
    assert writer.start("db.copy").awaitTermination(120)
    assert arctic.read("db.copy", warehouse=new).read_all().num_rows == 3
    assert arctic.optimize(NAME, type="full", spark=spark).rows_written == 3
    assert arctic.list_tables(warehouse=old) == [NAME]


def test_a_relative_warehouse_is_that_of_the_folder_it_was_named_in(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after the process has gone to another folder than the one Spark runs in."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    save(spark, [1])
    reading = spark.read.format("arctic").option("warehouse", "warehouse").load(NAME)

    assert (tmp_path / "warehouse" / "catalog.db").exists()
    monkeypatch.chdir("/")
    assert ids(reading) == [1]
