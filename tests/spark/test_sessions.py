"""Finding the format, and keeping the shim over PySpark's writer complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrameWriter, SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.spark.edge.save_modes import ENDS, LAYOUTS

IMPORTED = """
import sys, pyspark.sql.datasource
before = set(sys.modules)
import pyspark_arctic
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
COLUMNS_ALONE = """
import sys
from arctic.spark.source import ArcticDataSource

print(ArcticDataSource({"path": "db.t", "warehouse": sys.argv[1]}).schema().simpleString())
rooms = ["job.publish", "job.upkeep", "job.write", "optimizing", "spark.stream", "spark.write"]
print(*(room for room in rooms if f"arctic.{room}" in sys.modules))
"""
RESTARTED = """
import sys
import arctic

arctic.local_session(master="local[1]").stop()
session = arctic.local_session(master="local[1]")
frame = session.createDataFrame([(1, "a")], "id long, name string")
options = {"path": "db.t", "warehouse": sys.argv[1]}
frame.write.format("arctic").mode("upsert").option("primaryKey", "id").options(**options).save()
merged = session.read.format("arctic").option("read.deletion-vector.min-rows", "1000000000")
read = merged.options(**options).load().where("id = 1")
assert [tuple(row) for row in read.collect()] == [(1, "a")]
assert "hints" in read._jdf.queryExecution().executedPlan().toString()
"""


def test_the_module_that_spark_imports_brings_nothing_along() -> None:
    """Sessions that use other Python data sources import it too."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["pyspark_arctic"]


@pytest.mark.spark
def test_a_statement_that_fails_ends_no_workers_of_others(spark: SparkSession) -> None:
    """Spark ends all of them where it interrupts a task that waits for its own to begin."""

    @F.udf("string", useArrow=False)
    def is_interrupted(_: int) -> str | None:
        context = TaskContext.get()
        assert context is not None
        return context.getLocalProperty("spark.job.interruptOnCancel")

    rows = spark.range(1).select(is_interrupted("id")).collect()

    assert [row[0] for row in rows] == ["false"]


def test_a_worker_that_tells_columns_brings_nothing_of_writing_along(tmp_path: Path) -> None:
    """Spark starts a Python for each kind of question, and each imports all anew."""
    schema = pa.schema([("id", pa.int64())])
    arctic.create_table("db.t", schema, primary_key=["id"], warehouse=str(tmp_path))

    done = subprocess.run(
        [sys.executable, "-c", COLUMNS_ALONE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == ["struct<id:bigint>", ""]


def test_every_way_to_end_a_write_is_known() -> None:
    """A method that PySpark adds must be thought about: would it let an own mode slip through?"""
    builders = {"format", "mode", "option", "options", "partitionBy", "save", *LAYOUTS}
    public = {
        name
        for name in dir(DataFrameWriter)
        if not name.startswith("_") and callable(getattr(DataFrameWriter, name))
    }

    assert public == builders | set(ENDS)


@pytest.mark.spark
def test_a_session_that_starts_after_another_stopped_is_registered_too(tmp_path: Path) -> None:
    """The classes that were taught and the rule that was compiled belong to the one before."""
    done = subprocess.run(
        [sys.executable, "-c", RESTARTED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
