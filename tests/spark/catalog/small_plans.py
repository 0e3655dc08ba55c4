"""Settings of Spark under which a statement over a few rows costs least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

SMALL = {
    # A plan of a few rows costs less as it stands than as a program that is compiled for it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


@contextmanager
def with_settings(spark: SparkSession, given: Mapping[str, str]) -> Iterator[None]:
    """Set settings for a time."""
    before = {name: spark.conf.get(name, None) for name in given}
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


@contextmanager
def small_plans(spark: SparkSession) -> Iterator[None]:
    """Have plans of a few rows made cheap."""
    with with_settings(spark, SMALL):
        yield
