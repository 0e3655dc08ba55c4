"""Settings of Spark under which a statement over a few rows costs least."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tests.spark.lake import with_settings

SMALL = {
    # A plan of a few rows costs less as it stands than as a program that is compiled for it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


@contextmanager
def small_plans(spark: SparkSession) -> Iterator[None]:
    """Have plans of a few rows made cheap."""
    with with_settings(spark, SMALL):
        yield
