"""What tests of Java's half share."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.jvm.java_half import Java


@pytest.fixture(scope="module")
def java(spark: SparkSession) -> Java:
    """The other half."""
    return Java(spark)
