"""Rows that this process has, written by the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from arctic.job.mirror.write_changes import WriteRows
from arctic.options import WRITE_MODE
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.session import register
from arctic.spark.source import FORMAT


def write_with(session: SparkSession) -> WriteRows:
    """Return what writes rows as a frame of a session is saved: ``arctic.spark_writer``."""
    register(session)

    def write(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        table = rows.read_all()
        given = {name: text for name, text in options.items() if name != WRITE_MODE.name}
        frame = session.createDataFrame(table, spark_schema(table.schema))
        frame.write.format(FORMAT).options(**given).mode(options[WRITE_MODE.name]).save()

    return write
