"""``df.writeTo(...)`` with option ``mergeSchema``: the table gets the columns first.

Spark compares the columns of a frame with those of the table before the table is asked to write.

Must not know: how columns are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql.readwriter import DataFrameWriterV2

from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.target_table import open_or_create
from arctic.options import MERGE_SCHEMA
from arctic.spark.base.private_names import frame_of
from arctic.spark.base.recorded_calls import Asked, Call, record_calls
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.edge.catalog_names import options_of_name

_VERBS = ("append", "overwrite", "overwritePartitions")


@dataclass(slots=True, kw_only=True)
class _Asked(Asked):
    """What was said to one writer so far."""

    table: str = ""
    """As the user named it."""


def install_table_writes() -> None:
    """Teach the DataFrameWriterV2 of classic sessions; again is harmless."""
    record_calls(DataFrameWriterV2, _Asked, {"__init__": _begin, **dict.fromkeys(_VERBS, _write)})


def _begin(call: Call[_Asked], df: Any, table: str) -> None:
    call.asked.table = table
    call.native(df, table)


def _write(call: Call[_Asked], /, *args: Any, **kwargs: Any) -> Any:
    given = call.asked.options
    if any(name.lower() in given for name in MERGE_SCHEMA.names):
        frame = frame_of(call.builder)
        place = options_of_name(frame.sparkSession, call.asked.table)
        if place is not None and MERGE_SCHEMA.value(given):
            open_or_create(AskedWrite.of({**given, **place}), arrow_schema(frame.schema))
    return call.native(*args, **kwargs)
