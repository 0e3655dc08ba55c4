"""One local Spark session for the whole run, and an empty lake for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import arctic
from tests.spark.lake import Lake
from tests.spark.stream_input import Source

SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # What each execution tells the page of Spark, which is not served here: the shortest there is.
    "spark.sql.ui.explainMode": "simple",
    # A worker that dies of a signal says where it was.
    "spark.python.worker.faulthandler.enabled": "true",
    # It lives for minutes, in which plans come and go by the thousand: with room for what dies
    # young, in large pages where there are any, its JVM works an eighth less.
    "spark.driver.extraJavaOptions": (
        "-Xms900m -Xmn400m -XX:+IgnoreUnrecognizedVMOptions -XX:+UseTransparentHugePages"
    ),
    # Far from UTC and off the hour, so that a lost or doubled conversion shows.
    "spark.sql.session.timeZone": "Asia/Kathmandu",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bear what PySpark leaves open: 4.1 forgets the socket of every collect()."""
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session that knows Arctic."""
    session = arctic.local_session(master="local[2]", app_name="arctic-tests", conf=SETTINGS)
    yield session
    session.stop()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """A warehouse of its own."""
    return Lake(spark=spark, warehouse=str(tmp_path / "warehouse"))


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    """Return an empty source with a checkpoint of its own."""
    return Source(spark, tmp_path)
