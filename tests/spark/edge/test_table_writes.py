"""Saves, writes and streams of Spark's that bring columns along."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import arctic

pytestmark = pytest.mark.spark

COLUMNS = "id int, n int"


def test_every_builder_merges_columns(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``writeTo``, ``saveAsTable``, ``save``; without the option they refuse them."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path / "lake"))
    first = spark.createDataFrame([(1, 1)], COLUMNS)
    first.writeTo("arctic.shop.t").tableProperty("primaryKey", "id").create()
    more = spark.createDataFrame([(2**33, 2, "a")], "n long, id int, city string")

    with pytest.raises(Exception, match="city"):
        more.writeTo("arctic.shop.t").append()
    more.writeTo("arctic.shop.t").option("mergeSchema", "true").append()
    spark.createDataFrame([(3, 3, "b", 0.5)], f"{COLUMNS}, city string, x double").write.option(
        "mergeSchema", True
    ).mode("append").saveAsTable("arctic.shop.t")
    last = spark.createDataFrame(
        [(1, 4, "c", 1.5, True)], f"{COLUMNS}, city string, x double, y boolean"
    )
    writer = last.write.format("arctic").option("mergeSchema", "true").mode("upsert")
    writer.save("shop.t")

    table = arctic.open_table("shop.t")
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("id", "int32"),
        ("n", "int64"),
        ("city", "string"),
        ("x", "double"),
        ("y", "bool"),
    ]
    assert sorted(tuple(row.values()) for row in table.read().read_all().to_pylist()) == [
        (1, 4, "c", 1.5, True),
        (2, 2**33, "a", None, None),
        (3, 3, "b", 0.5, None),
    ]
    assert spark.table("arctic.shop.t").columns == ["id", "n", "city", "x", "y"]


def test_a_stream_brings_columns_when_it_starts_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more columns in its query than the run before had."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path / "lake"))
    folder = str(tmp_path / "in")
    spark.createDataFrame([(1, 1)], COLUMNS).coalesce(1).write.json(folder)

    def run(columns: str) -> None:
        read = spark.readStream.schema(columns).json(folder)
        writer = read.writeStream.option("mergeSchema", "true").option("primaryKey", "id")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable("arctic.shop.s").awaitTermination()

    run(COLUMNS)
    more = spark.createDataFrame([(2, 2, "a")], f"{COLUMNS}, city string")
    more.coalesce(1).write.mode("append").json(folder)
    run(f"{COLUMNS}, city string")

    found = arctic.read("shop.s").read_all().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(1, 1, None), (2, 2, "a")]
