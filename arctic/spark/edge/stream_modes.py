"""``writeStream`` in our format: every batch of a stream is written as ``save()`` writes a frame.

Spark gives the rows of a batch to a data source as they lie. Here they come as a frame, so they
are spread over tasks first, and committed under the id of the query and the number of the batch.

Rules:
    - Whatever can be refused is refused by ``start()``, not by the first batch.
    - Any other format, and ``foreach`` and ``foreachBatch`` of the user, stay Spark's own.
    - A stream without a checkpoint that outlives it is refused: it could not go on exactly where
      it stopped.

Must not know: tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from arctic.errors import InvalidInputError
from arctic.job.reference import placed
from arctic.job.write.asked_write import AskedWrite
from arctic.options import Scope, check_known
from arctic.spark.base.error_surface import named_errors
from arctic.spark.base.private_names import frame_of, jvm_stream_writer, session_of
from arctic.spark.base.recorded_calls import Asked, Call, names_of, record_calls
from arctic.spark.base.sealed import sealed_names
from arctic.spark.edge.catalog_names import options_of_name
from arctic.spark.jvm.named_sink import start_named
from arctic.spark.source import FORMAT
from arctic.spark.stream.checkpoint_file import CheckpointFile
from arctic.spark.stream.stream_sink import StreamSink
from arctic.spark.tasks.workers import check_workers

_CHECKPOINT = "checkpointlocation"
_CHECKPOINT_CONF = "spark.sql.streaming.checkpointLocation"
_SHARES_FILE = "partition-shares.json"


@dataclass(slots=True, kw_only=True)
class _Asked(Asked):
    """What was said to one writer so far.

    Spark is told of ``partition_by`` where the stream is not for us: it takes none beside
    ``foreachBatch``.
    """

    output_mode: str | None = None
    query_name: str | None = None
    is_clustered: bool = False
    has_own_sink: bool = False
    """``foreach`` or ``foreachBatch`` was called."""


def install_stream_modes() -> None:
    """Teach the DataStreamWriter of classic sessions; again is harmless.

    On Spark Connect a batch runs beside the server, where the data source's own writer serves.
    """
    record_calls(
        DataStreamWriter,
        _Asked,
        {
            "outputMode": _output_mode,
            "queryName": _query_name,
            "partitionBy": _partition_by,
            "clusterBy": _cluster_by,
            "foreach": _own_sink,
            "foreachBatch": _own_sink,
            "start": _start,
            "toTable": _to_table,
        },
    )


def _output_mode(call: Call[_Asked], outputMode: Any) -> Any:
    result = call.native(outputMode)
    call.asked.output_mode = str(outputMode).lower()
    return result


def _query_name(call: Call[_Asked], queryName: Any) -> Any:
    call.asked.query_name = queryName
    return call.native(queryName)


def _partition_by(call: Call[_Asked], *cols: Any) -> Any:
    call.asked.partition_by = cols
    return call.builder


def _cluster_by(call: Call[_Asked], *cols: Any) -> Any:
    call.asked.is_clustered = True
    return call.native(*cols)


def _own_sink(call: Call[_Asked], function: Any) -> Any:
    call.asked.has_own_sink = True
    return call.native(function)


def _start(
    call: Call[_Asked],
    /,
    path: str | None = None,
    format: str | None = None,
    outputMode: str | None = None,
    partitionBy: Any = None,
    queryName: str | None = None,
    **options: Any,
) -> StreamingQuery:
    asked, writer = call.asked, call.builder
    if asked.has_own_sink or not asked.is_of(FORMAT, format):
        if asked.partition_by:
            call.spark("partitionBy", *asked.partition_by)
        query: StreamingQuery = call.alone(
            call.name, path, format, outputMode, partitionBy, queryName, **options
        )
        return query
    writer.options(**options)
    if outputMode is not None:
        writer.outputMode(outputMode)
    if queryName is not None:
        writer.queryName(queryName)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    if asked.is_clustered:
        raise InvalidInputError(
            f"clusterBy() with format {FORMAT!r}: the table decides where its rows go; "
            "leave the call out"
        )
    check_known([name for name in asked.names if name.lower() != _CHECKPOINT], Scope.WRITE)
    session = session_of(writer)
    memory = CheckpointFile(session, _checkpoint(session, asked), _SHARES_FILE)
    sink = StreamSink(_write(asked, path), memory=memory)
    check_workers(session)
    with named_errors():
        sink.check(frame_of(writer))
    for name in sealed_names(asked.options):
        # Spark prints them with the plan of the query, and the sink has them already.
        call.spark("option", name, "")
    call.spark("foreachBatch", sink)
    named = start_named(session, jvm_stream_writer(writer), f"{FORMAT} {sink.table}")
    query = call.alone("start") if named is None else named
    sink.begin(str(query.id))
    return query


def _to_table(
    call: Call[_Asked], /, tableName: str, format: str | None = None, *args: Any, **options: Any
) -> StreamingQuery:
    place = options_of_name(session_of(call.builder), tableName)
    if place is None:
        # Spark would ask its own catalogs, which do not know a table of ours.
        return _start(call, tableName, format, *args, **options)
    path = place.pop("path")
    format = format or call.asked.format or FORMAT
    given: dict[str, Any] = {**options, **place}
    return _start(call, path, format, *args, **given)


def _checkpoint(session: SparkSession, asked: _Asked) -> str:
    given = asked.options.get(_CHECKPOINT)
    if given:
        return given
    root = session.conf.get(_CHECKPOINT_CONF, None)
    if root and asked.query_name:
        return f"{root}/{asked.query_name}"
    raise InvalidInputError(
        "a stream into a table needs a place to remember how far it came; add "
        ".option('checkpointLocation', '...')"
    )


def _write(asked: _Asked, path: str | None) -> AskedWrite:
    """Return what each batch is written with."""
    given = {name: text for name, text in asked.options.items() if name != _CHECKPOINT}
    if path is not None:
        given["path"] = str(path)
    columns = names_of(*asked.partition_by)
    if columns:
        given["partitionby"] = ", ".join(columns)
    write = AskedWrite.of(placed(given))
    return write.of_stream(output_mode=asked.output_mode or "append")
