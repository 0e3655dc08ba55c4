"""Finding the format, and keeping the shim over PySpark's writer complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter

from arctic.spark.edge.save_modes import ENDS, LAYOUTS

IMPORTED = """
import sys, pyspark.sql.datasource
before = set(sys.modules)
import pyspark_arctic
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""
RESTARTED = """
import sys
import arctic

arctic.local_session(master="local[1]").stop()
session = arctic.local_session(master="local[1]")
frame = session.createDataFrame([(1, "a")], "id long, name string")
options = {"path": "db.t", "warehouse": sys.argv[1]}
frame.write.format("arctic").mode("upsert").option("primaryKey", "id").options(**options).save()
read = session.read.format("arctic").options(**options).load().where("id = 1")
assert [tuple(row) for row in read.collect()] == [(1, "a")]
assert "hints" in read._jdf.queryExecution().executedPlan().toString()
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
def test_a_session_that_starts_after_another_stopped_is_registered_too(tmp_path: Path) -> None:
    """The classes that were taught and the rule that was compiled belong to the one before."""
    done = subprocess.run(
        [sys.executable, "-c", RESTARTED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
