"""Rows that this process has, written by the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from arctic.job.write_changes import WriteRows
from arctic.options import WRITE_MODE
from arctic.spark.session import register
from arctic.spark.source import FORMAT
from arctic.spark.types import spark_schema


def spark_writer(session: SparkSession) -> WriteRows:
    """Return what writes rows as a frame of this session is saved.

    Memory: all the rows of a write, here and in the JVM.
    """
    register(session)

    def write(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        table = rows.read_all()
        given = {name: text for name, text in options.items() if name != WRITE_MODE.name}
        frame = session.createDataFrame(table, spark_schema(table.schema))
        frame.write.format(FORMAT).options(**given).mode(options[WRITE_MODE.name]).save()

    return write
