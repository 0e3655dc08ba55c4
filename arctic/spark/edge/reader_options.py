"""What ``load()`` in our format adds to the options of a reader.

Rules:
    - The warehouse is written out: workers of Spark have the variables and the working directory of
      the moment at which the session began. Not where a server of Spark Connect looks after our
      tables: they are where it sees them, not its client.
    - Catalog properties that may hold a secret go to Spark under names that it does not print.
    - ``readStream`` asks for the columns that tell what each row does: Spark asks a source for its
      columns without saying whether a stream or a batch is meant, and a stream of rows that does
      not say which of them are deletes would be read wrongly.
    - Spark would start a Python to ask for the columns, and import all anew there. Where this
      process plans the scans, it says the columns too. What it cannot answer a worker is asked,
      which meets the same fault and makes it Spark's.

Must not know: tables.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import StructType

from arctic.errors import InvalidInputError
from arctic.job.reference import placed
from arctic.options import STREAMING, WAREHOUSE
from arctic.spark.base.private_names import forget_schema, has_schema, session_of
from arctic.spark.base.recorded_calls import Asked, Call, record_calls
from arctic.spark.base.sealed import sealed_name, sealed_names
from arctic.spark.edge.catalog_names import options_of_name
from arctic.spark.jvm.extension import saves_on_server
from arctic.spark.jvm.table_v2 import plans_here
from arctic.spark.source import FORMAT, ArcticDataSource
from arctic.spark.tasks.workers import check_cluster


def install_reader_options(reader_class: type, *, is_stream: bool) -> None:
    """Teach a DataFrameReader or DataStreamReader class, classic or Connect; again is harmless."""
    ours: dict[str, Any] = {"load": functools.partial(_load, is_stream)}
    if is_stream:
        ours["table"] = _stream_of_table
    record_calls(reader_class, Asked, ours)


def _stream_of_table(call: Call[Asked], tableName: str) -> Any:
    reader = call.builder
    place = options_of_name(session_of(reader), tableName)
    if place is None:
        return call.native(tableName)
    path = place.pop("path")
    return reader.format(FORMAT).options(**place).load(path)


def _load(
    is_stream: bool,
    call: Call[Asked],
    /,
    path: Any = None,
    format: Any = None,
    schema: Any = None,
    **options: Any,
) -> Any:
    asked, reader = call.asked, call.builder
    if not asked.is_of(FORMAT, format):
        return call.native(path, format, schema, **options)
    reader.options(**options)
    if path is None and not asked.options.get("path"):
        raise InvalidInputError("no table named; expected load('namespace.table')")
    if not saves_on_server(session_of(reader)):  # whose folders and variables count there
        warehouse = placed(asked.options).get(WAREHOUSE.name)
        if warehouse is not None:
            reader.option(WAREHOUSE.name, warehouse)
    for name in sealed_names(asked.options):
        if value := asked.options[name]:
            # What was said to Spark's builder cannot be taken back, but said again.
            reader.option(sealed_name(name, value), value).option(name, "")
    if is_stream:
        reader.option(STREAMING.name, "true")
    check_cluster(session_of(reader))
    is_told = schema is not None or not isinstance(path, str | None)
    if is_stream or is_told or not plans_here(session_of(reader)) or has_schema(reader):
        return call.native(path, format, schema)
    given = asked.options if path is None else {**asked.options, "path": path}
    try:
        return call.native(path, format, _columns(given))
    finally:
        forget_schema(reader)


def _columns(options: Mapping[str, str]) -> StructType | None:
    """Return the columns that these options mean; None: a worker is to say it."""
    try:
        return ArcticDataSource(dict(options)).schema()
    except Exception:  # noqa: BLE001 - whatever it is, a worker meets it too
        return None
