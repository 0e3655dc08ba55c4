"""The Python of Spark's workers: which one it is, and what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from arctic.errors import StorageError
from arctic.spark.base.private_names import jvm_context
from arctic.spark.tasks import workers
from arctic.spark.tasks.workers import (
    DAEMON,
    DAEMON_SETTING,
    check_workers,
    use_ready_workers,
    use_this_python,
)
from tests.other_python import printed, write_bare_python

pytestmark = pytest.mark.spark

WRONG = """
import sys
import arctic
from arctic.errors import StorageError
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.master("local[1]").config("spark.log.level", "OFF").getOrCreate()
arctic.register(spark)
function = F.udf(lambda number: number + 42, useArrow=False)
print(spark.range(1).select(function("id")).collect()[0][0])
writer = spark.range(3).write.format("arctic").option("primaryKey", "id").mode("upsert")
for attempt in range(2):
    try:
        writer.option("warehouse", sys.argv[1]).save("db.t")
    except StorageError as error:
        print(error)
spark.stop()
"""


def test_workers_without_the_package_are_one_error_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names their Python, the package and the remedy; a second write says so again.

    Functions that do not need the package run in them.
    """
    monkeypatch.setenv("PYSPARK_PYTHON", str(write_bare_python(tmp_path)))

    function, first, second = printed(WRONG, tmp_path).splitlines()
    assert function == "42"
    assert "has no package arctic, " in first
    assert f"leave PYSPARK_PYTHON out, or set it to {sys.executable!r}" in first
    assert second == first
    assert not (tmp_path / "lake").exists()


def test_a_python_that_the_user_names_stays(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without one, workers run the Python of this process."""
    context = spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "python3")
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    use_this_python(spark)
    assert context.pythonExec == "python3"

    monkeypatch.delenv("PYSPARK_PYTHON")
    use_this_python(spark)
    assert context.pythonExec == sys.executable


def test_workers_on_this_machine_are_looked_at_without_a_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their Python tells that it has all; one that is not there is looked at by Spark."""
    monkeypatch.setattr(workers, "_good", set())
    jobs: list[SparkSession] = []

    def executors(session: SparkSession) -> int:
        jobs.append(session)
        return 1

    monkeypatch.setattr(workers, "_executors", executors)
    check_workers(spark)
    assert not jobs

    monkeypatch.setattr(workers, "_good", set())
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(StorageError, match="Cannot run program"):
        check_workers(spark)
    assert jobs == [spark]


@pytest.mark.skipif(sys.platform != "linux", reason="it is used on Linux alone")
def test_workers_begin_ready_unless_the_user_names_what_forks_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or their memory is limited, or their Python is not found to have the package."""
    conf = jvm_context(spark.sparkContext).conf()
    assert spark.sparkContext.getConf().get(DAEMON_SETTING) == DAEMON
    try:
        conf.set(DAEMON_SETTING, "pyspark.daemon")
        use_ready_workers(spark)
        assert conf.get(DAEMON_SETTING) == "pyspark.daemon"

        conf.remove(DAEMON_SETTING)
        conf.set("spark.executor.pyspark.memory", "256m")
        use_ready_workers(spark)
        assert not conf.contains(DAEMON_SETTING)

        conf.remove("spark.executor.pyspark.memory")
        monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
        use_ready_workers(spark)
        assert not conf.contains(DAEMON_SETTING)
    finally:
        conf.remove("spark.executor.pyspark.memory")
        conf.set(DAEMON_SETTING, DAEMON)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('x\nCannot run program "py": error=2', 'Cannot run program "py": error=2'),
        ("Traceback\nModuleNotFoundError: No module named 'z'\n x", "No module named 'z'"),
        ("Something else\nand more", "Something else"),
    ],
)
def test_the_reason_is_found_in_what_spark_says(text: str, reason: str) -> None:
    """A page of stack goes with the cause of the error, one line with its message."""
    assert workers._reason(text) == reason
