"""Rows on their way to a Python worker."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from arctic.spark.write.hand_over import batches_by_rows
from arctic.spark.write.write_frame import mapped_in_arrow

pytestmark = pytest.mark.spark

_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


def _counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = [batch.num_rows for batch in batches]
    yield pa.RecordBatch.from_pydict({"rows": pa.array(rows, pa.int64())})


def _lengths(frame: DataFrame) -> list[int]:
    """Return the rows of each batch of a frame's write."""
    with batches_by_rows(frame):
        return [row.rows for row in mapped_in_arrow(frame, _counts, "rows long").collect()]


def test_short_rows_are_handed_over_in_batches_of_a_fixed_length(spark: SparkSession) -> None:
    """Also behind an exchange, and nothing is left to the jobs that come after."""
    frame = spark.range(0, 5000, 1, 1).withColumn("at", F.current_timestamp())

    assert _lengths(frame) == [4096, 904]
    assert _lengths(frame.repartition(1)) == [4096, 904]
    assert spark.sparkContext.getLocalProperty(_ROWS) is None
    assert [row.rows for row in mapped_in_arrow(frame, _counts, "rows long").collect()] == [5000]


def test_texts_keep_sparks_limits(spark: SparkSession) -> None:
    """A thousand documents are no batch for a small worker."""
    frame = spark.range(0, 1000, 1, 1).select(F.repeat(F.lit("x"), 100 << 10).alias("text"))

    assert max(_lengths(frame)) < 1000


def test_a_setting_of_the_user_wins(spark: SparkSession) -> None:
    """Each of the two."""
    frame = spark.range(0, 5000, 1, 1)
    for name, text in ((_ROWS, "1000"), (_BYTES, "8000")):
        spark.conf.set(name, text)
        try:
            assert max(_lengths(frame)) <= 1001
        finally:
            spark.conf.unset(name)


def test_rows_that_may_be_long_and_functions_of_the_user_keep_sparks_limits(
    spark: SparkSession,
) -> None:
    """A file in a column is often longer than a thousand rows."""
    frame = spark.range(0, 5000, 1, 1)
    identity = arrow_udf(lambda column: column, "long")  # type: ignore[call-overload]

    assert _lengths(frame.withColumn("file", F.lit(b"x"))) == [5000]
    assert _lengths(frame.withColumn("list", F.array("id"))) == [5000]
    assert _lengths(frame.select(identity("id"))) == [5000]
