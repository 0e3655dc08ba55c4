"""Finding the format, and keeping the shim over PySpark's writer complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter

from arctic.spark.save_modes import ENDS, LAYOUTS

IMPORTED = """
import sys, pyspark.sql.datasource
before = set(sys.modules)
import pyspark_arctic
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
RESTARTED = """
import sys
from pyspark.sql import SparkSession
from arctic.spark.session import local_session
import arctic, pyarrow

def start(make):
    return make.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

warehouse = sys.argv[1]
schema = pyarrow.schema({"id": pyarrow.int64(), "name": pyarrow.string()})
arctic.create_table("db.t", schema, primary_key=["id"], warehouse=warehouse)
where = {"path": "db.t", "warehouse": warehouse}
session = start(SparkSession.builder)
frame = session.createDataFrame([(1, "a")], "id long, name string")
frame.write.format("arctic").mode("append").options(**where).save()
assert session.read.format("arctic").options(**where).load().count() == 1
session.stop()
session = local_session(master="local[1]")
frame = session.createDataFrame([(1, "b")], "id long, name string")
frame.write.format("arctic").mode("upsert").options(**where).save()
read = session.read.format("arctic").options(**where).load()
assert [tuple(row) for row in read.where("id = 1").collect()] == [(1, "b")]
"""


def test_the_module_that_spark_imports_brings_nothing_along() -> None:
    """Sessions that use other Python data sources import it too."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["pyspark_arctic"]


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
def test_the_format_is_found_without_register_and_after_a_restart(tmp_path: Path) -> None:
    """A plain session appends and reads; one that starts after its stop upserts."""
    done = subprocess.run(
        [sys.executable, "-c", RESTARTED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
