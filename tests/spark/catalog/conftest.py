"""A catalog with a warehouse of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.catalog.sql import Sql


@pytest.fixture
def sql(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sql:
    """The catalog has no configuration in these sessions: this process says where it is."""
    warehouse = str(tmp_path / "warehouse")
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)
    return Sql(spark, warehouse)
